"""What holds for every request, whatever its route: the size of its body, the host it names, and the headers
that keep a browser from doing more with an answer than show it.

Put around the application by ``server.app``. Plain ASGI: an upload is counted as it flows, never collected.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moorage.core.errors import TooLarge
from moorage.server.problems import of_error, problem

BODY_LIMIT: Final = 1 << 20
"""Bytes of a body; a template is 256 KiB at most."""
UPLOAD_LIMIT: Final = 4 << 30
"""Bytes of a tar that is put into a workspace."""
UPLOADS: Final = "/files"
"""Paths that end so take an upload by PUT."""
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "; ".join(
        ("default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'")
    ),
}
_SECURE: Final = {"Strict-Transport-Security": "max-age=31536000"}


class Limits:
    """``hosts``: names that a request may be for; empty: any. On loopback they keep a page that resolves its
    own name to 127.0.0.1 from being answered."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str], secure: bool) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._headers = {**_HEADERS, **(_SECURE if secure else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if self._hosts and host_name(headers.get("host", "")) not in self._hosts:
            await self._refuse_host(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        await self._answer(scope, headers, receive, send)

    async def _refuse_host(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "another host"})
            return
        hint = "use the address that moorage up printed, or name yours with --listen"
        refused = problem(421, "host", "this server does not answer under that name", hint=hint, field="Host")
        await refused(scope, receive, send)

    async def _answer(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        limit = UPLOAD_LIMIT if scope["method"] == "PUT" and scope["path"].endswith(UPLOADS) else BODY_LIMIT
        begun = over = False

        async def dressed(message: Message) -> None:
            nonlocal begun
            if over and not begun:
                return  # what the application made of a body that was cut off
            if message["type"] == "http.response.start":
                begun = True
                given = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    given.setdefault(name, value)
                given.setdefault("Cache-Control", "no-store")
            await send(message)

        if (length := headers.get("content-length", "")).isdigit() and int(length) > limit:
            await of_error(_too_large(limit))(scope, receive, dressed)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read, over
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > limit:
                    over = True
                    raise _too_large(limit)
            return message

        try:
            await self._app(scope, counted, dressed)
        except TooLarge:
            if begun:
                raise
        if over and not begun:
            over = False
            await of_error(_too_large(limit))(scope, receive, dressed)


def host_name(host: str) -> str:
    """A Host header without its port: ``[::1]:8080`` → ``[::1]``."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"the body is larger than {limit} bytes", hint="send less at once; files go in several requests"
    )
