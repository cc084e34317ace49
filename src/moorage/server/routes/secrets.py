"""Secrets that profiles refer to as ``moorage://NAME``. Values go in and are never shown; names are."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path, Request
from pydantic import Field

from moorage.core.errors import NotFound, UsageError
from moorage.server.guard import does
from moorage.server.parts import ServerParts, parts_of
from moorage.server.routes.router import router
from moorage.server.wire.base import Page, Wire

ROUTES = router("secrets")
PREFIX: Final = "named/"
"""Of the references in the store, beside those that sessions make."""
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,125}[A-Za-z0-9])?$")]


class SecretBody(Wire):
    value: Annotated[str, Field(min_length=1, max_length=64 * 1024)]


class SecretShown(Wire):
    name: str


@ROUTES.get("/secrets", openapi_extra=does("secret.read"))
async def list_secrets(request: Request) -> Page[SecretShown]:
    found = await parts_of(request).store.secrets.names(PREFIX)
    return Page(items=[SecretShown(name=ref.removeprefix(PREFIX)) for ref in found])


@ROUTES.put("/secrets/{name}", status_code=204, openapi_extra=does("secret.update"))
async def set_secret(name: Name, body: SecretBody, request: Request) -> None:
    """Made, or replaced. Sessions that run keep what they were started with."""
    await parts_of(request).store.secrets.put(PREFIX + name, body.value.encode())


@ROUTES.delete("/secrets/{name}", status_code=204, openapi_extra=does("secret.delete"))
async def delete_secret(name: Name, request: Request) -> None:
    secrets = parts_of(request).store.secrets
    if PREFIX + name not in await secrets.names(PREFIX):
        raise NotFound(f"there is no secret {name}")
    await secrets.delete(PREFIX + name)


async def stored_secret(parts: ServerParts, name: str) -> str:
    """For a session that is about to start."""
    try:
        return (await parts.store.secrets.get(PREFIX + name)).decode()
    except NotFound:
        raise UsageError(
            f"the profile refers to the secret {name}, which is not stored",
            field="profile_id",
            hint=f"an administrator stores it: moorage secret set {name}",
        ) from None
