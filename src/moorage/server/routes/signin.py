"""Signing in: by password, by a link that works once, or at an OpenID Connect provider (``routes.oidc``); and
who one is then."""

from __future__ import annotations

from typing import Final

from fastapi import Request, Response

from moorage.core.errors import NotSignedIn
from moorage.core.service.records import User
from moorage.server.guard import actor_of, does
from moorage.server.parts import parts_of
from moorage.server.passwords import Passwords
from moorage.server.routes.router import router
from moorage.server.who import COOKIE, csrf_of, digest, sign_in
from moorage.server.wire.base import Wire
from moorage.server.wire.people import LinkBody, MeShown, PasswordBody, SignInBody

ROUTES = router("signin")
PASSWORDS: Final = Passwords()


class HealthShown(Wire):
    status: str


@ROUTES.get("/health", openapi_extra=does("service.health"))
async def health(request: Request) -> HealthShown:
    """Whether the server answers and its database does."""
    await parts_of(request).service.people.count()
    return HealthShown(status="ok")


@ROUTES.post("/signin/password", openapi_extra=does("signin.password"))
async def sign_in_by_password(body: SignInBody, request: Request, response: Response) -> MeShown:
    parts = parts_of(request)
    address = request.client.host if request.client else ""
    user = await PASSWORDS.signed_in(parts, body.name, body.password.get_secret_value(), address)
    return _me(user, (await sign_in(parts, user, response)).csrf)


@ROUTES.post("/signin/link", openapi_extra=does("signin.link"))
async def sign_in_by_link(body: LinkBody, request: Request, response: Response) -> MeShown:
    """By a POST, so that whatever only looks at a link does not use it up."""
    parts = parts_of(request)
    user = await parts.service.people.take_link(digest(body.link.get_secret_value()))
    if user is None:
        raise NotSignedIn("this link is used up, over, or none of ours", field="link", hint="ask for another")
    return _me(user, (await sign_in(parts, user, response)).csrf)


@ROUTES.delete("/signin", status_code=204, openapi_extra=does("signin.out"))
async def sign_out(request: Request, response: Response) -> None:
    if cookie := request.cookies.get(COOKIE):
        await parts_of(request).service.people.sign_out(digest(cookie))
    response.delete_cookie(COOKIE, path="/")


@ROUTES.get("/me", openapi_extra=does("me.read"))
async def me(request: Request) -> MeShown:
    actor = actor_of(request)
    csrf = await csrf_of(parts_of(request), request) if actor.via == "browser" else None
    return _me(actor.user, csrf, read_only=actor.read_only)


@ROUTES.put("/me/password", status_code=204, openapi_extra=does("me.password"))
async def set_password(body: PasswordBody, request: Request) -> None:
    """Ends every sign-in of this person, this one too."""
    parts, user = parts_of(request), actor_of(request).user
    known = await parts.service.people.password_hash(user.name)
    if known and known[1]:
        address = request.client.host if request.client else ""
        await PASSWORDS.signed_in(parts, user.name, body.current.get_secret_value(), address)
    made = await PASSWORDS.hashed(body.password.get_secret_value())
    await parts.service.people.set_password(user.id, made)


def _me(user: User, csrf: str | None, *, read_only: bool = False) -> MeShown:
    return MeShown(
        id=user.id, name=user.name, role=user.role, email=user.email, read_only=read_only, csrf_token=csrf
    )
