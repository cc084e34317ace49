"""A watch over a WebSocket instead of a plain answer: one event in each text message.

Called by ``api.server``. kube-apiserver has this way since its first version; ``doctor`` uses it to see
whether WebSockets pass, since it needs no Pod. As there, a client that names no origin is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable

from aiohttp import WSCloseCode, web

from moorage.core.kinds import Json
from moorage.embedded.api.bodies import encode
from moorage.embedded.api.watches import Watch
from moorage.embedded.faults import Answer

Sent = Callable[[Json], Awaitable[Iterable[Json]]]


def asked_for(request: web.BaseRequest) -> bool:
    return request.headers.get("Upgrade", "").lower() == "websocket"


async def serve(request: web.BaseRequest, watch: Watch, sent: Sent) -> Answer | web.StreamResponse:
    """Events until the watch's time is up or the client leaves. ``sent``: what goes out for an event."""
    if not request.headers.get("Origin"):
        return Answer(403, b"", "text/plain")
    ws = web.WebSocketResponse(compress=False, timeout=5)
    await ws.prepare(request)
    sending = asyncio.create_task(_send(ws, watch, sent))
    leaving = asyncio.create_task(_until_closed(ws))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)
    await ws.close(code=WSCloseCode.OK)
    return ws


async def _send(ws: web.WebSocketResponse, watch: Watch, sent: Sent) -> None:
    with contextlib.suppress(ConnectionError):  # the client has left
        async for event in watch.events():
            for item in await sent(event):
                await ws.send_str(encode(item).decode())


async def _until_closed(ws: web.WebSocketResponse) -> None:
    async for _ in ws:
        pass  # a watch takes no words from its client
