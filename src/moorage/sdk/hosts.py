"""Ports of a sandbox on this machine's loopback: what ``sandbox.get_host`` listens on.

Each connection is dialled through the link; nothing is exposed in the cluster. Ends with the sandbox object.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Final

from moorage.core.errors import MoorageError
from moorage.ports.sessions import SessionVerbs
from moorage.ports.streams import DialledStream

_CHUNK: Final = 256 << 10


class Hosts:
    """By port. ``host`` must be called on the event loop."""

    def __init__(self, sessions: Callable[[], SessionVerbs], name: str) -> None:
        self._sessions = sessions
        self._name = name
        self._hosts: dict[int, str] = {}
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[Any]] = set()

    def host(self, port: int) -> str:
        """``127.0.0.1:N``, the same for the same port."""
        if port not in self._hosts:
            listening = socket.create_server(("127.0.0.1", 0))
            listening.setblocking(False)
            self._sockets.append(listening)
            self._hosts[port] = f"127.0.0.1:{listening.getsockname()[1]}"
            self._spawn(self._accept(listening, port))
        return self._hosts[port]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listening: socket.socket, port: int) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(listening)
            self._spawn(self._serve(connection, port))

    async def _serve(self, connection: socket.socket, port: int) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=_CHUNK)
        try:
            stream = await self._sessions().dial(self._name, port)
            try:
                await _both(_up(reader, stream), _down(stream, writer))
            finally:
                await stream.close()
        except (
            MoorageError,
            OSError,
        ):  # nothing listens there, no Pod runs, or it broke: a reset, as of a port
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for listening in self._sockets:
            listening.close()
        self._sockets.clear()
        self._hosts.clear()


async def _both(*ways: Coroutine[Any, Any, None]) -> None:
    """Both directions to their end; the first that fails ends the other."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _up(reader: asyncio.StreamReader, stream: DialledStream) -> None:
    with contextlib.suppress(MoorageError):  # it was closed there: what it still said is on its way down
        while data := await reader.read(_CHUNK):
            await stream.write(data)
        await stream.close_write()


async def _down(stream: DialledStream, writer: asyncio.StreamWriter) -> None:
    while data := await stream.read():
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
