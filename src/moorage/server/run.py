"""Serve: uvicorn around the application, until it is told to stop. The one entry for ``main``.

At the end agents keep running: requests are let end, links close and leases are released, so that another
server or command goes on at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import uvicorn

from moorage.core.errors import Conflict
from moorage.core.service.records import Role, User
from moorage.server.app import limited, make_app
from moorage.server.parts import ServerParts
from moorage.server.routes.people import sign_in_link

GRACE_SECONDS: Final = 5
"""So long are requests, and streams, let go on after a signal."""
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


def listening(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 chooses one. Conflict when it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        hint = "name another address with --listen HOST:PORT, or end what listens there"
        raise Conflict(f"{host}:{port} cannot be listened on: {error.strerror}", hint=hint) from None
    return sock


def hosts_of(host: str) -> tuple[str, ...]:
    """Names that a request to a server on loopback may be for; () for others, which a proxy may name
    anything."""
    return ("127.0.0.1", "localhost", "[::1]") if host in LOOPBACK else ()


async def first_link(parts: ServerParts, name: str) -> str:
    """A one-time sign-in link for the administrator ``name``, who is made where there is none yet."""
    for user in await parts.service.users.list_all():
        if user.role is Role.ADMINISTRATOR and not user.disabled:
            return await sign_in_link(parts, user)
    now = parts.clock.now()
    row = User(parts.ids.session_id(), name, Role.ADMINISTRATOR, created_at=now, updated_at=now)
    return await sign_in_link(parts, await parts.service.users.add(row))


class Server(uvicorn.Server):
    """``up`` is set once requests are answered."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for whoever called ``serve``."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


def make_server(parts: ServerParts) -> Server:
    """Not started. Logs nothing of requests: paths may hold names, and the audit has them."""
    config = uvicorn.Config(
        limited(make_app(parts)),
        lifespan="off",
        ws="websockets-sansio",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return Server(config)


async def serve(
    parts: ServerParts, sock: socket.socket, stop: asyncio.Event, ready: Callable[[], Awaitable[None]]
) -> None:
    """Until ``stop`` is set. ``ready`` is called once requests are answered; what it raises ends the server.
    Closes ``parts`` (store and connections too)."""
    server = make_server(parts)
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    ending = asyncio.create_task(_end(server, stop))
    try:
        await parts.drivers.start()
        await _up(server, serving)
        await ready()
        await serving
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)
        ending.cancel()
        await parts.drivers.close()
        await parts.places.close()


async def _up(server: Server, serving: asyncio.Task[None]) -> None:
    up = asyncio.ensure_future(server.up.wait())
    await asyncio.wait({up, serving}, return_when=asyncio.FIRST_COMPLETED)
    up.cancel()


async def _end(server: Server, stop: asyncio.Event) -> None:
    await stop.wait()
    server.should_exit = True
