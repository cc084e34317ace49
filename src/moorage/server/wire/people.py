"""People, tokens, sign-ins and the audit. Nothing here shows a password, a hash, or a token but once."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SecretStr

from moorage.core.service.records import Role, Scope
from moorage.server.wire.base import Wire

UserName = Annotated[str, Field(min_length=1, max_length=63)]
Email = Annotated[str, Field(max_length=254)]


class UserBody(Wire):
    name: UserName
    role: Role = Role.MEMBER
    email: Email = ""


class UserPatch(Wire):
    """What is left out stays."""

    name: UserName | None = None
    role: Role | None = None
    email: Email | None = None
    disabled: bool | None = None


class UserShown(Wire):
    id: str
    name: str
    role: Role
    email: str
    disabled: bool
    created_at: float
    updated_at: float
    version: int


class MeShown(Wire):
    """``csrf_token``: what a browser's changing requests repeat as X-CSRF-Token; None for a token's."""

    id: str
    name: str
    role: Role
    email: str
    read_only: bool
    csrf_token: str | None


class PasswordBody(Wire):
    """``current`` is needed where there is one; a sign-in by link has just shown who it is."""

    password: SecretStr
    current: SecretStr = SecretStr("")


class SignInBody(Wire):
    name: Annotated[str, Field(max_length=63)]
    password: Annotated[SecretStr, Field(max_length=1024)]


class LinkBody(Wire):
    link: Annotated[SecretStr, Field(max_length=200)]


class LinkShown(Wire):
    """Signs one browser in, once."""

    url: str
    expires_in_seconds: int


class TokenBody(Wire):
    name: Annotated[str, Field(min_length=1, max_length=100)]
    scope: Scope = Scope.FULL
    expires_in_seconds: Annotated[int, Field(ge=0, le=10 * 366 * 86400)] = 0


class TokenShown(Wire):
    id: str
    name: str
    scope: Scope
    created_at: float
    expires_at: float
    last_used_at: float


class TokenMade(TokenShown):
    """``value`` is told here and nowhere else."""

    value: str


class AuditShown(Wire):
    id: int
    at: float
    actor: str
    via: str
    action: str
    target: str
    outcome: str
    status: int
    detail: str
