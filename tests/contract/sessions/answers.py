"""The moment when the API server has done a write and the client has read nothing of its answer.

Used by ``traced.py``, the program beside it. The server answers once it has committed, so this is when the
first bytes of the answer arrive: before aiohttp, and all of Moorage above it, sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest

Tell = Callable[[], None]
_awaited: ContextVar[list[Tell] | None] = ContextVar("_awaited", default=None)
_connections: dict[ResponseHandler, list[Tell]] = {}


@contextmanager
def coming(tell: Tell) -> Iterator[None]:
    """Call ``tell`` once, when the first answer to a request of this context arrives."""
    token = _awaited.set([tell])
    try:
        yield
    finally:
        _awaited.reset(token)


def install() -> None:
    """Hook into every connection of this process."""
    send, received = ClientRequest.send, ResponseHandler.data_received

    async def sent(request: ClientRequest, connection: Any) -> Any:
        waiting = _awaited.get()
        if waiting:
            _connections[connection.protocol] = waiting
        return await send(request, connection)

    def arrived(protocol: ResponseHandler, data: bytes) -> None:
        waiting = _connections.pop(protocol, None)
        if waiting:
            waiting.pop()()
        received(protocol, data)

    ClientRequest.send = sent  # type: ignore[method-assign,assignment]
    ResponseHandler.data_received = arrived  # type: ignore[method-assign,assignment]
