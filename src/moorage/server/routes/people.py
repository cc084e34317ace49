"""People, their tokens, and the audit. Administrators see people; a person sees own tokens."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query, Request, Response

from moorage.core.service.checks import require
from moorage.core.service.checks_of_people import check_token, check_user
from moorage.core.service.records import Token, User
from moorage.core.session import change
from moorage.server.guard import actor_of, does
from moorage.server.parts import ServerParts, parts_of
from moorage.server.routes.router import router
from moorage.server.versions import expect, replace, tagged
from moorage.server.who import KEY_PREFIX, digest, fresh_value
from moorage.server.wire.base import After, Limit, Page, page_of, shown
from moorage.server.wire.people import (
    AuditShown,
    LinkShown,
    TokenBody,
    TokenMade,
    TokenShown,
    UserBody,
    UserPatch,
    UserShown,
)

ROUTES = router("people")
LINK_SECONDS: Final = 900


@ROUTES.get("/users", openapi_extra=does("user.read"))
async def list_users(request: Request, after: After = "", limit: Limit = 100) -> Page[UserShown]:
    return await page_of(UserShown, parts_of(request).service.users, after, limit)


@ROUTES.post("/users", status_code=201, openapi_extra=does("user.create"))
async def create_user(body: UserBody, request: Request, response: Response) -> UserShown:
    """They sign in with a link (``POST users/{id}/links``), or at the provider."""
    parts = parts_of(request)
    now = parts.clock.now()
    row = User(parts.ids.session_id(), body.name, body.role, created_at=now, updated_at=now, email=body.email)
    require(check_user(row), "the person")
    return shown(UserShown, tagged(response, await parts.service.users.add(row)))


@ROUTES.get("/users/{user_id}", openapi_extra=does("user.read"))
async def get_user(user_id: str, request: Request, response: Response) -> UserShown:
    return shown(UserShown, tagged(response, await parts_of(request).service.users.get(user_id)))


@ROUTES.patch("/users/{user_id}", openapi_extra=does("user.update"))
async def update_user(user_id: str, body: UserPatch, request: Request, response: Response) -> UserShown:
    parts = parts_of(request)
    row = await parts.service.users.get(user_id)
    expect(request, row)
    given = {name: getattr(body, name) for name in body.model_fields_set if getattr(body, name) is not None}
    changed = change(row, **given)
    require(check_user(changed), "the person")
    return shown(UserShown, tagged(response, await replace(parts.service.users, changed)))


@ROUTES.delete("/users/{user_id}", status_code=204, openapi_extra=does("user.delete"))
async def delete_user(user_id: str, request: Request) -> None:
    users = parts_of(request).service.users
    await users.delete((await users.get(user_id)).id)


@ROUTES.post("/users/{user_id}/links", status_code=201, openapi_extra=does("user.link"))
async def offer_link(user_id: str, request: Request) -> LinkShown:
    parts = parts_of(request)
    user = await parts.service.users.get(user_id)
    return LinkShown(url=await sign_in_link(parts, user), expires_in_seconds=LINK_SECONDS)


async def sign_in_link(parts: ServerParts, user: User) -> str:
    """The value stands after ``#``: browsers send it to no server and no log holds it."""
    value = fresh_value()
    await parts.service.people.offer_link(user.id, digest(value), LINK_SECONDS)
    return f"{parts.reached.base_url}/signin#{value}"


@ROUTES.get("/tokens", openapi_extra=does("token.list"))
async def list_tokens(request: Request, after: After = "", limit: Limit = 100) -> Page[TokenShown]:
    rows = parts_of(request).service.tokens
    return await page_of(TokenShown, rows, after, limit, parent=actor_of(request).user.id)


@ROUTES.post("/tokens", status_code=201, openapi_extra=does("token.create"))
async def create_token(body: TokenBody, request: Request) -> TokenMade:
    parts = parts_of(request)
    now = parts.clock.now()
    row = Token(
        id=parts.ids.session_id(),
        user_id=actor_of(request).user.id,
        name=body.name,
        scope=body.scope,
        created_at=now,
        expires_at=now + body.expires_in_seconds if body.expires_in_seconds else 0.0,
    )
    require(check_token(row, now), "the token")
    value = fresh_value(KEY_PREFIX)
    made = await parts.service.people.add_token(row, digest(value))
    return shown(TokenMade, made, value=value)


@ROUTES.delete("/tokens/{token_id}", status_code=204, openapi_extra=does("token.delete"))
async def delete_token(token_id: str, request: Request) -> None:
    await parts_of(request).service.tokens.delete(token_id)


@ROUTES.get("/audit", openapi_extra=does("audit.read"))
async def list_audit(
    request: Request,
    before: Annotated[int, Query(ge=0)] = 0,
    limit: Limit = 100,
    actor: Annotated[str, Query(max_length=63)] = "",
    target: Annotated[str, Query(max_length=200)] = "",
) -> Page[AuditShown]:
    """Newest first; ``next`` is what ``before`` is for the next page."""
    rows = await parts_of(request).service.audit.rows(before=before, limit=limit, actor=actor, target=target)
    following = str(rows[-1].id) if len(rows) == limit else None
    return Page(items=[shown(AuditShown, row) for row in rows], next=following)
