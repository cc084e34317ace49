"""Idempotency keys: a POST that is sent again with the same key is answered again, not done again.

Called by ``server.guard`` around each route. An answer that holds a secret is never kept: those routes refuse
the key. A request that was refused (4xx) did nothing, so its key is free again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from moorage.core.errors import Conflict, UsageError
from moorage.core.service.access import Actor
from moorage.server.parts import ServerParts
from moorage.server.problems import MEDIA_TYPE

HEADER: Final = "Idempotency-Key"
LONGEST: Final = 200
SECRET_ANSWERS: Final = ("/tokens", "/links", "/signin/password", "/signin/link")
"""Ends of the paths whose answers are for one pair of eyes."""


async def once(
    parts: ServerParts, request: Request, actor: Actor | None, act: Callable[[], Awaitable[Response]]
) -> Response:
    """``act``, or the answer it gave before."""
    key = request.headers.get(HEADER)
    if key is None or request.method != "POST" or actor is None:
        return await act()
    _check(key, request)
    store, user = parts.service.idempotency, actor.user.id
    known = await store.claim(user, key, await _fingerprint(request))
    if known is not None:
        if known.request != await _fingerprint(request):
            raise UsageError(
                "this idempotency key was used for another request", field=HEADER, hint="use a fresh one"
            )
        if known.status == 0:
            raise Conflict(
                "the first request with this key is still being worked on", field=HEADER, hint="ask again"
            )
        media = "application/json" if known.status < 400 else MEDIA_TYPE
        return Response(known.body, known.status, {"Idempotency-Replayed": "true"}, media)
    response = await act()  # cut short, it may have been done: then the key stays taken
    if isinstance(response, StreamingResponse) or 400 <= response.status_code < 500:
        await store.answer(user, key, 0, b"")
    else:
        await store.answer(user, key, response.status_code, bytes(response.body))
    return response


def _check(key: str, request: Request) -> None:
    if not 0 < len(key) <= LONGEST or not key.isprintable():
        raise UsageError(f"an idempotency key has 1 to {LONGEST} printable characters", field=HEADER)
    if request.url.path.endswith(SECRET_ANSWERS):
        raise UsageError(
            "the answer holds a secret and is not kept", field=HEADER, hint="send it without the key"
        )


async def _fingerprint(request: Request) -> bytes:
    head = f"{request.method} {request.url.path}?{request.url.query}\n"
    return hashlib.sha256(head.encode() + await request.body()).digest()
