"""Who asks: by a bearer token, or by the cookie of a browser that signed in.

Called by ``server.guard`` and by the terminal's WebSocket. Decides nothing: that is ``core.service.access``.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

from moorage.core.errors import NotAllowed, NotSignedIn
from moorage.core.service.access import Actor
from moorage.core.service.records import Scope, SignIn, User
from moorage.server.parts import ServerParts

COOKIE: Final = "moorage_session"
CSRF_HEADER: Final = "X-CSRF-Token"
SIGN_IN_SECONDS: Final = 14 * 24 * 3600
KEY_PREFIX: Final = "mrg_"
"""Of tokens, so that scanners of leaked secrets know one."""
SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
PROGRAMS: Final = ("cli", "mcp")
"""What the header X-Moorage-Client may say of a request with a token; the audit tells it."""


def fresh_value(prefix: str = "") -> str:
    """256 random bits for a token, a link or a cookie."""
    return prefix + secrets.token_urlsafe(32)


def digest(value: str) -> bytes:
    """What the store keeps of it. The value is random, so a plain hash does."""
    return hashlib.sha256(value.encode()).digest()


async def identify(parts: ServerParts, request: HTTPConnection) -> Actor | None:
    """None: no credential was sent. NotSignedIn for one that is not, or no longer, valid; NotAllowed for a
    browser's change without its CSRF token, or from another page's WebSocket."""
    authorization = request.headers.get("authorization")
    if authorization is not None:
        return await _by_token(parts, request, authorization)
    cookie = request.cookies.get(COOKIE)
    if cookie is None:
        return None
    found = await parts.service.people.by_sign_in(digest(cookie))
    if found is None:
        raise NotSignedIn("this sign-in is over", hint="sign in again")
    user, sign_in = found
    _check_origin(request, sign_in)
    return Actor(user, "browser")


async def _by_token(parts: ServerParts, request: HTTPConnection, authorization: str) -> Actor:
    scheme, _, value = authorization.partition(" ")
    found = None
    if scheme.lower() == "bearer":
        found = await parts.service.people.by_token(digest(value.strip()))
    if found is None:
        raise NotSignedIn(
            "this token is not, or no longer, valid", hint="make one with: moorage token create NAME"
        )
    user, token = found
    program = request.headers.get("x-moorage-client", "")
    return Actor(user, program if program in PROGRAMS else "token", read_only=token.scope is Scope.READ)


def _check_origin(request: HTTPConnection, sign_in: SignIn) -> None:
    """The cookie comes by itself, so what changes something has to show that it is from our own pages."""
    if request.scope["type"] == "websocket":
        origin = urlsplit(request.headers.get("origin", ""))
        if not origin.netloc or origin.netloc != request.headers.get("host"):
            raise NotAllowed("this WebSocket was opened by another site's page", field="Origin")
        return
    if request.scope["method"] in SAFE_METHODS:
        return
    if not hmac.compare_digest(request.headers.get(CSRF_HEADER, "").encode(), sign_in.csrf.encode()):
        raise NotAllowed(
            f"a browser's change needs the header {CSRF_HEADER}",
            field=CSRF_HEADER,
            hint="GET /api/v1/me tells its value",
        )


async def csrf_of(parts: ServerParts, request: HTTPConnection) -> str:
    """What this browser must repeat; "" when it is none."""
    cookie = request.cookies.get(COOKIE)
    found = await parts.service.people.by_sign_in(digest(cookie)) if cookie else None
    return found[1].csrf if found else ""


async def sign_in(parts: ServerParts, user: User, response: Response) -> SignIn:
    """Put a browser's sign-in on record, and its cookie into ``response``."""
    value = fresh_value()
    now = parts.clock.now()
    row = SignIn(secrets.token_hex(8), user.id, fresh_value(), now, now + SIGN_IN_SECONDS)
    await parts.service.people.sign_in(row, digest(value))
    response.set_cookie(
        COOKIE,
        value,
        max_age=SIGN_IN_SECONDS,
        path="/",
        secure=parts.reached.secure,
        httponly=True,
        samesite="strict",
    )
    return row
