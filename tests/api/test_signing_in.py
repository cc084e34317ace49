"""Signing in by a browser: cookie and CSRF token, links that work once, passwords, limits."""

from __future__ import annotations

from http.cookies import SimpleCookie

import pytest

from moorage.server import passwords
from moorage.server.routes.people import sign_in_link
from tests.api.service import Answer, Client, Service

PASSWORD = "correct horse battery staple"


def browser(service: Service, signed_in: Answer) -> Client:
    """The browser that was given this answer."""
    cookie = SimpleCookie(signed_in.headers["Set-Cookie"])
    (morsel,) = cookie.values()
    return Client(service.base, {"Cookie": f"{morsel.key}={morsel.value}"})


async def by_link(service: Service, client: Client) -> Answer:
    assert client.user is not None
    url = await sign_in_link(service.parts, client.user)
    return await service.nobody().post("/signin/link", {"link": url.partition("#")[2]})


async def test_the_cookie_is_for_this_site_and_no_script(service: Service) -> None:
    signed_in = await by_link(service, await service.person("mia"))
    flags = signed_in.headers["Set-Cookie"].lower()
    assert (signed_in.status, "httponly" in flags, "samesite=strict" in flags) == (200, True, True)


async def test_a_browser_changes_nothing_without_its_csrf_token(service: Service) -> None:
    mia = browser(service, await by_link(service, await service.person("mia")))
    token = (await mia.get("/me")).body["csrf_token"]
    bare = await mia.post("/tasks", {"title": "forged"})
    wrong = await mia.post("/tasks", {"title": "forged"}, headers={"X-CSRF-Token": "x" * 43})
    right = await mia.post("/tasks", {"title": "meant"}, headers={"X-CSRF-Token": token})
    assert (bare.status, wrong.status, right.status) == (403, 403, 201)
    assert [one["title"] for one in (await mia.get("/tasks")).body["items"]] == ["meant"]


async def test_a_link_signs_one_browser_in(service: Service) -> None:
    mia = await service.person("mia")
    assert mia.user is not None
    link = (await sign_in_link(service.parts, mia.user)).partition("#")[2]
    first = await service.nobody().post("/signin/link", {"link": link})
    second = await service.nobody().post("/signin/link", {"link": link})
    assert (first.status, second.status) == (200, 401)
    assert "Set-Cookie" not in second.headers


async def test_a_password_signs_in_and_signing_out_ends_it(service: Service) -> None:
    token = await service.person("mia")
    assert (await token.put("/me/password", {"password": PASSWORD})).status == 204
    signed_in = await service.nobody().post("/signin/password", {"name": "mia", "password": PASSWORD})
    mia = browser(service, signed_in)
    csrf = {"X-CSRF-Token": signed_in.body["csrf_token"]}
    assert (await mia.get("/me")).body["name"] == "mia"
    assert (await mia.delete("/signin", headers=csrf)).status == 204
    assert (await mia.get("/me")).status == 401


async def test_a_password_is_changed_by_who_knows_it(service: Service) -> None:
    mia = await service.person("mia")
    await mia.put("/me/password", {"password": PASSWORD})
    other = {"password": "another long sentence"}
    assert (await mia.put("/me/password", other)).status == 401
    assert (await mia.put("/me/password", {**other, "current": PASSWORD})).status == 204


async def test_guessing_ends_after_a_few_tries(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "BY_NAME", 2)
    mia = await service.person("mia")
    await mia.put("/me/password", {"password": PASSWORD})
    tries = [
        await service.nobody().post("/signin/password", {"name": "mia", "password": word})
        for word in ("wrong", "wrong again", PASSWORD)
    ]
    assert [one.status for one in tries] == [401, 401, 429]
    assert tries[2].headers["Retry-After"] == "900"


async def test_nobody_learns_which_names_there_are(service: Service) -> None:
    mia = await service.person("mia")
    await mia.put("/me/password", {"password": PASSWORD})
    known = await service.nobody().post("/signin/password", {"name": "mia", "password": "wrong"})
    unknown = await service.nobody().post("/signin/password", {"name": "max", "password": "wrong"})
    assert (known.status, known.body) == (unknown.status, unknown.body)


async def test_who_is_disabled_is_out_at_once(service: Service) -> None:
    administrator, mia = await service.administrator(), await service.person("mia")
    assert mia.user is not None
    signed_in = browser(service, await by_link(service, mia))
    await administrator.patch(f"/users/{mia.user.id}", {"disabled": True}, "*")
    assert ((await mia.get("/me")).status, (await signed_in.get("/me")).status) == (401, 401)
