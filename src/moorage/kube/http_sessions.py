"""aiohttp sessions as Moorage wants them: keepalive, no cookies, no hidden repetition.

Called by ``kube.transport`` only.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Literal

import aiohttp

CONNECT_TIMEOUT = 10.0
READ_BUFFER = 1024 * 1024


def new_session(
    limit: int, began: Literal[False] | Callable[[aiohttp.ClientResponse], Awaitable[None]]
) -> aiohttp.ClientSession:
    """A session with at most ``limit`` connections (0: any number); ``began`` sees each answer's head."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=limit, socket_factory=_keepalive_socket),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
        raise_for_status=began,
        read_bufsize=READ_BUFFER,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent",),
    )
    # aiohttp sends PUT and DELETE a second time when a kept connection turns out closed. A write that
    # was carried out and then repeated would come back as a Conflict, and look as if it never was.
    session._retry_connection = False
    return session


def _keepalive_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Half-open connections (a vanished node, a forgetful NAT) end after about two minutes."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 6)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
