"""Serve: uvicorn around the application, until a signal. The one entry for ``main``.

At the end agents keep running: requests are let end, links close and leases are released, so that another
server or command goes on at once.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
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


async def serve(parts: ServerParts, sock: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Until SIGINT or SIGTERM. ``ready`` is called once requests are answered. Closes ``parts`` (store and
    connections too)."""
    server = make_server(parts)
    telling = asyncio.create_task(_tell(server.up, ready))
    try:
        await parts.drivers.start()
        await server.serve(sockets=[sock])
    finally:
        telling.cancel()
        await parts.drivers.close()
        await parts.places.close()


async def _tell(up: asyncio.Event, ready: Callable[[], None]) -> None:
    await up.wait()
    ready()
