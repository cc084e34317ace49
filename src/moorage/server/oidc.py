"""Signing in at a provider of OpenID Connect: authorization code with PKCE, state and nonce.

Called by ``server.routes.oidc``. Discovery and keys are read anew at each sign-in, so a key that the provider
gave up is refused from then on. Nothing of a token is kept; what it says of a person is who they are, never
their role.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import aiohttp
import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from moorage.core.errors import NotSignedIn, Unreachable
from moorage.server.parts import OidcSettings
from moorage.server.who import fresh_value

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384")
"""Signatures with the provider's private key alone: never ``none``, never a secret that is shared."""
LEEWAY: Final = 60
TIMEOUT: Final = aiohttp.ClientTimeout(total=20)
LARGEST: Final = 1 << 20


@dataclass(frozen=True)
class Attempt:
    """What a browser has to bring back."""

    state: str
    nonce: str
    verifier: str


class Person(msgspec.Struct, frozen=True):
    """Who the provider says it is."""

    sub: str
    email: str = ""
    preferred_username: str = ""


class Provider(msgspec.Struct, frozen=True):
    """Of the discovery document, what we use."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str


class _Tokens(msgspec.Struct):
    id_token: str


def attempt() -> Attempt:
    return Attempt(fresh_value(), fresh_value(), fresh_value())


async def discovered(settings: OidcSettings) -> Provider:
    """Unreachable where it does not answer, or answers for another issuer."""
    url = settings.issuer.rstrip("/") + "/.well-known/openid-configuration"
    provider: Provider = _decoded(await _asked("GET", url), Provider)
    if provider.issuer != settings.issuer:
        raise Unreachable("the sign-in provider answers as another issuer", hint="check the issuer's address")
    return provider


def sign_in_url(provider: Provider, settings: OidcSettings, tried: Attempt, back: str) -> str:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(tried.verifier.encode()).digest()).rstrip(b"=")
    query = {
        "response_type": "code",
        "client_id": settings.client_id,
        "redirect_uri": back,
        "scope": "openid email profile",
        "state": tried.state,
        "nonce": tried.nonce,
        "code_challenge": challenge.decode(),
        "code_challenge_method": "S256",
    }
    joint = "&" if "?" in provider.authorization_endpoint else "?"
    return f"{provider.authorization_endpoint}{joint}{urlencode(query)}"


async def person(settings: OidcSettings, tried: Attempt, code: str, back: str, now: float) -> Person:
    """Exchange the code, and check what is told. NotSignedIn where anything of it is not for us, not of now,
    or not of the provider."""
    provider = await discovered(settings)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": back,
        "client_id": settings.client_id,
        "client_secret": settings.client_secret,
        "code_verifier": tried.verifier,
    }
    tokens = _decoded(await _asked("POST", provider.token_endpoint, form), _Tokens)
    keys = msgspec.json.decode(await _asked("GET", provider.jwks_uri))
    return checked(settings, tokens.id_token, keys, tried.nonce, now)


def checked(settings: OidcSettings, id_token: str, keys: Any, nonce: str, now: float) -> Person:
    """OpenID Connect Core 1.0, 3.1.3.7. Pure."""
    claims = jwt.JWTClaimsRegistry(
        now=int(now),
        leeway=LEEWAY,
        iss={"essential": True, "value": settings.issuer},
        aud={"essential": True, "value": settings.client_id},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": nonce},
    )
    try:
        token = jwt.decode(id_token, KeySet.import_key_set(keys), algorithms=list(ALGORITHMS))
        claims.validate(token.claims)
        several = isinstance(token.claims["aud"], list) and len(token.claims["aud"]) > 1
        if token.claims.get("azp", None if several else settings.client_id) != settings.client_id:
            raise ValueError("azp")
        return msgspec.convert(token.claims, Person)
    except (JoseError, ValueError, KeyError, TypeError, msgspec.ValidationError) as error:
        raise NotSignedIn(
            f"the sign-in provider's token is not accepted ({type(error).__name__})",
            hint="sign in again; if it stays so, check issuer, client and clock",
        ) from None


async def _asked(method: str, url: str, form: dict[str, str] | None = None) -> bytes:
    try:
        async with (
            aiohttp.ClientSession(timeout=TIMEOUT) as http,
            http.request(method, url, data=form, allow_redirects=False) as answer,
        ):
            body = await answer.content.read(LARGEST)
    except (aiohttp.ClientError, TimeoutError, ValueError):
        raise Unreachable("the sign-in provider does not answer", hint="try again in a while") from None
    if 400 <= answer.status < 500 and form is not None:
        raise NotSignedIn("the sign-in provider does not accept the code", hint="sign in again")
    if answer.status != 200:
        raise Unreachable(
            f"the sign-in provider answers {answer.status}", hint="check the issuer, or try again"
        )
    return body


def _decoded(body: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError:
        raise Unreachable("the sign-in provider's answer is none of OpenID Connect") from None
