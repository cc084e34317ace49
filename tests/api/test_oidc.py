"""Signing in at a provider: the good way, and every token that is not meant for us."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import pytest
from joserfc.jwk import RSAKey

from moorage.server.parts import OidcSettings
from tests.api.provider import CLIENT, Claims, FakeProvider
from tests.api.service import Client, Service
from tests.sessions.stage import NOW


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    made = FakeProvider()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def oidc_settings(provider: FakeProvider) -> OidcSettings:
    """In place of the one of conftest."""
    return OidcSettings(provider.issuer, CLIENT, "client-secret")


async def go(service: Service, path: str, cookie: str = "") -> tuple[int, str, SimpleCookie]:
    """One step of the browser: status, where it is led, its new cookies."""
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.get(service.base + path, headers={"Cookie": cookie}, allow_redirects=False) as told,
    ):
        return told.status, told.headers.get("Location", ""), told.cookies


async def sign_in(service: Service, provider: FakeProvider, *, state: str = "") -> tuple[int, SimpleCookie]:
    """All of it; ``state``: what comes back instead of what was sent."""
    status, away, cookies = await go(service, "/signin/oidc")
    assert status == 303
    provider.asked = dict(parse_qsl(urlsplit(away).query))
    mine = f"moorage_oidc={cookies['moorage_oidc'].value}"
    back = f"/signin/oidc/return?code=c1&state={state or provider.asked['state']}"
    status, _, cookies = await go(service, back, mine)
    return status, cookies


async def test_a_person_signs_in_and_is_the_same_the_next_time(
    service: Service, provider: FakeProvider
) -> None:
    names = []
    for _ in range(2):
        status, cookies = await sign_in(service, provider)
        assert status == 303
        page = Client(service.base, {"Cookie": f"moorage_session={cookies['moorage_session'].value}"})
        me = (await page.get("/me")).body
        names.append((me["id"], me["name"], me["role"]))
    assert names[0] == names[1]
    assert names[0][1:] == ("mia", "member")
    assert provider.asked["code_challenge_method"] == "S256"


def unsigned(claims: Claims) -> str:
    coded = [base64.urlsafe_b64encode(json.dumps(one).encode()) for one in ({"alg": "none"}, claims)]
    return ".".join(part.rstrip(b"=").decode() for part in coded) + "."


SPOILT: dict[str, dict[str, Any]] = {
    "another audience": {"aud": "somebody-else"},
    "several audiences, and meant for another": {"aud": [CLIENT, "other"], "azp": "other"},
    "several audiences, and not said for whom": {"aud": [CLIENT, "other"]},
    "another nonce": {"nonce": "stale"},
    "no nonce": {"nonce": None},
    "another issuer": {"iss": "https://evil.example"},
    "expired": {"exp": int(NOW) - 3600},
    "nobody": {"sub": None},
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT.keys())
async def test_a_token_that_is_not_for_this_sign_in_is_refused(
    service: Service, provider: FakeProvider, spoil: dict[str, Any]
) -> None:
    provider.spoil = spoil
    status, cookies = await sign_in(service, provider)
    assert (status, "moorage_session" in cookies) == (401, False)
    assert await service.parts.service.people.count() == 0


async def test_a_token_that_the_provider_did_not_sign_is_refused(
    service: Service, provider: FakeProvider
) -> None:
    stranger = RSAKey.generate_key(2048, {"kid": "one"})
    unknown = RSAKey.generate_key(2048, {"kid": "two"})
    for forge in (
        unsigned,
        lambda claims: provider.signed(claims, stranger),
        lambda claims: provider.signed(claims, unknown),
    ):
        provider.forge = forge
        assert (await sign_in(service, provider))[0] == 401


async def test_a_rotated_key_is_taken_and_the_one_given_up_is_not(
    service: Service, provider: FakeProvider
) -> None:
    old, provider.key = provider.key, RSAKey.generate_key(2048, {"kid": "two"})
    provider.published = [provider.key]
    assert (await sign_in(service, provider))[0] == 303
    provider.key = old
    assert (await sign_in(service, provider))[0] == 401


async def test_a_return_that_this_browser_did_not_begin_is_refused(
    service: Service, provider: FakeProvider
) -> None:
    assert (await sign_in(service, provider, state="forged"))[0] == 401
    assert (await go(service, "/signin/oidc/return?code=c1&state=forged"))[0] == 401
