"""Listeners on the loopback of this machine, each connection joined with a port in a Pod.

Used by ``port-forward``. Never listens on another address: what runs in a session is for whoever is on this
machine. A connection that fails is told on stderr, and closed; the listeners stay, as a server in the Pod may
come later, or again.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, TypeAlias

from moorage.core.errors import Conflict, LinkError, MoorageError, NotFound
from moorage.ports.sessions import SessionVerbs
from moorage.ports.streams import DialledStream

CHUNK: Final = 64 * 1024
Families: TypeAlias = tuple[tuple[socket.AddressFamily, str], ...]
LOOPBACK: Final[Families] = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
_NO_FAMILY: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""What a machine without IPv6 says."""
_TRIES: Final = 10
"""Free ports tried, until one is free in both families."""


@dataclass(frozen=True)
class Listening:
    """``local`` leads to ``port`` in the Pod; ``addresses`` as ``127.0.0.1:8080`` and ``[::1]:8080``."""

    local: int
    port: int
    addresses: tuple[str, ...]


class Forwarder:
    """The listeners of one session. A context: at its end all of them, and all connections, are closed."""

    def __init__(self, sessions: SessionVerbs, name: str, say: Callable[[str], None]) -> None:
        self._sessions = sessions
        self._name = name
        self._say = say
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Forwarder:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def listen(self, local: int, port: int, families: Families = LOOPBACK) -> Listening:
        """``local`` 0 takes a free one; ``families``: which of LOOPBACK. Conflict when it is taken,
        MoorageError when it may not be had."""
        sockets = _bound(local, families)
        chosen = sockets[0].getsockname()[1]

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = asyncio.create_task(self._serve(reader, writer, port))
            self._connections.add(connection)
            connection.add_done_callback(self._connections.discard)

        for one in sockets:
            self._servers.append(await asyncio.start_server(accept, sock=one, limit=CHUNK))
        return Listening(chosen, port, tuple(_shown(one) for one in sockets))

    async def wait(self) -> None:
        """For ever, or until the session is gone: then NotFound."""
        await self._over

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        try:
            stream = await self._sessions.dial(self._name, port)
        except MoorageError as error:
            writer.transport.abort()
            self._failed(error, port)
            return
        try:
            await _both(_up(reader, stream), _down(stream, writer))
        except (MoorageError, OSError) as error:
            writer.transport.abort()
            if isinstance(error, MoorageError):
                self._say(f"a connection to port {port} broke: {error.message}")
        finally:
            writer.close()
            await stream.close()

    def _failed(self, error: MoorageError, port: int) -> None:
        if isinstance(error, NotFound) and error.details.get("code") != "unreachable":
            if not self._over.done():
                self._over.set_exception(error)
            return
        if isinstance(error, NotFound):
            self._say(f"error: nothing listens on port {port} in the Pod of {self._name}: {error.message}")
            self._say(f"  hint: look for it with: moorage exec {self._name} -- ss -ltn")
            return
        self._say(f"error: {error.message}")
        if error.hint:
            self._say(f"  hint: {error.hint}")


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
    while data := await reader.read(CHUNK):
        try:
            await stream.write(data)
        except LinkError:  # it was closed there: what it still said is on its way down
            return
    with contextlib.suppress(LinkError):
        await stream.close_write()


async def _down(stream: DialledStream, writer: asyncio.StreamWriter) -> None:
    while data := await stream.read():
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def _bound(local: int, families: Families) -> list[socket.socket]:
    """Sockets of one port in each family that this machine has."""
    for _ in range(_TRIES - 1 if local == 0 else 0):
        with contextlib.suppress(Conflict):
            return _bind(0, families)
    return _bind(local, families)


def _bind(local: int, families: Families) -> list[socket.socket]:
    bound: list[socket.socket] = []
    try:
        for family, address in families:
            with contextlib.suppress(_Missing):
                bound.append(_bind_one(family, address, bound[0].getsockname()[1] if bound else local))
    except MoorageError:
        for one in bound:
            one.close()
        raise
    if not bound:
        raise MoorageError("this machine has no loopback address to listen on")
    return bound


class _Missing(Exception):
    """This machine does not have the family."""


def _bind_one(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    try:
        one = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        raise _Missing from None
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        one.bind((address, port))
        one.listen()
    except OSError as error:
        one.close()
        raise _refused(error, address, port) from None
    return one


def _refused(error: OSError, address: str, port: int) -> Exception:
    if error.errno in _NO_FAMILY:
        return _Missing()
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            f"port {port} of {address} is in use", field=str(port), hint="write another LOCAL:PORT, or 0:PORT"
        )
    hint = "ports below 1024 are for root; write e.g. 8080:80" if error.errno == errno.EACCES else ""
    return MoorageError(f"cannot listen on port {port} of {address}: {error.strerror}", hint=hint)


def _shown(one: socket.socket) -> str:
    address, port = one.getsockname()[:2]
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
