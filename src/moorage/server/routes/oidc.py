"""Signing in at an OpenID Connect provider: away to it, and back. Who comes for the first time becomes a
member, or an administrator where the server's settings name that subject."""

from __future__ import annotations

import hmac
import re
from typing import Annotated, Final

from fastapi import Query, Request
from starlette.responses import RedirectResponse, Response

from moorage.core.errors import Conflict, NotFound, NotSignedIn
from moorage.core.service.records import Role, User
from moorage.server import oidc
from moorage.server.guard import does
from moorage.server.parts import OidcSettings, ServerParts, parts_of
from moorage.server.routes.router import router
from moorage.server.who import sign_in

ROUTES = router("signin")
COOKIE: Final = "moorage_oidc"
PATH: Final = "/api/v1/signin/oidc"
SECONDS: Final = 600
"""So long may a person take at the provider."""


@ROUTES.get("/signin/oidc", openapi_extra=does("signin.oidc"), response_class=RedirectResponse)
async def away(request: Request) -> Response:
    parts = parts_of(request)
    settings = _settings(parts)
    provider, tried = await oidc.discovered(settings), oidc.attempt()
    response = RedirectResponse(oidc.sign_in_url(provider, settings, tried, _back(parts)), 303)
    response.set_cookie(
        COOKIE,
        f"{tried.state}.{tried.nonce}.{tried.verifier}",
        max_age=SECONDS,
        path=PATH,
        secure=parts.reached.secure,
        httponly=True,
        samesite="lax",  # the provider's page leads back here
    )
    return response


@ROUTES.get("/signin/oidc/return", openapi_extra=does("signin.oidc_return"), response_class=RedirectResponse)
async def back(
    request: Request,
    code: Annotated[str, Query(max_length=4096)] = "",
    state: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    parts = parts_of(request)
    settings = _settings(parts)
    tried = _attempt(request, state)
    if not code:
        raise NotSignedIn("the sign-in provider signed nobody in", hint="try again")
    found = await oidc.person(settings, tried, code, _back(parts), parts.clock.now())
    user = await _user(parts, settings, found)
    response = RedirectResponse(f"{parts.reached.base_url}/", 303)
    response.delete_cookie(COOKIE, path=PATH)
    await sign_in(parts, user, response)
    return response


def _settings(parts: ServerParts) -> OidcSettings:
    if parts.oidc is None:
        raise NotFound("this service has no sign-in provider", hint="sign in by a link or a password")
    return parts.oidc


def _back(parts: ServerParts) -> str:
    return f"{parts.reached.base_url}{PATH}/return"


def _attempt(request: Request, state: str) -> oidc.Attempt:
    """The one that this very browser began."""
    begun = request.cookies.get(COOKIE, "").split(".")
    if len(begun) != 3 or not hmac.compare_digest(begun[0].encode(), state.encode()):
        raise NotSignedIn("this sign-in was not begun here, or too long ago", field="state", hint="try again")
    return oidc.Attempt(*begun)


async def _user(parts: ServerParts, settings: OidcSettings, found: oidc.Person) -> User:
    known = await parts.service.people.by_subject(settings.issuer, found.sub)
    if known is not None:
        if known.disabled:
            raise NotSignedIn("this person is disabled", hint="ask an administrator")
        return known
    now = parts.clock.now()
    user_id = parts.ids.session_id()
    role = Role.ADMINISTRATOR if found.sub in settings.administrators else Role.MEMBER
    wanted = _name(found) or user_id
    for name in (wanted, f"{wanted[:50]}-{user_id[:6]}"):
        row = User(user_id, name, role, now, now, found.email[:254], settings.issuer, found.sub)
        try:
            return await parts.service.users.add(row)
        except Conflict:
            continue
    raise Conflict("this person's name is taken", hint="ask an administrator")


def _name(found: oidc.Person) -> str:
    told = found.preferred_username or found.email.partition("@")[0]
    return re.sub(r"[^a-z0-9]+", "-", told.lower())[:60].strip("-")
