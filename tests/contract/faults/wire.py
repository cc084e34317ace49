"""HTTP/1.1 as the proxy reads and writes it: heads, bodies of known length, whole answers. No faults.

Used by ``proxy``. What a client of ours sends has a Content-Length or no body, and that is all this reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "host")


@dataclass(frozen=True)
class Head:
    """A request without its body. ``target``: path and query; ``headers`` as they came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def upgrades(self) -> bool:
        return self.header("upgrade").lower() == "websocket"

    @property
    def forwarded(self) -> dict[str, str]:
        """The headers that belong to the request, not to the connection."""
        return {key: value for key, value in self.headers if key.lower() not in _HOP}


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    def raw(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} Told"]
        lines += [f"{key}: {value}" for key, value in self.headers.items() if key.lower() not in _HOP]
        lines += [f"Content-Length: {len(self.body)}"]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


def stream_head(status: int, headers: Mapping[str, str]) -> bytes:
    """The start of an answer whose body comes in chunks."""
    lines = [f"HTTP/1.1 {status} Told", "Transfer-Encoding: chunked"]
    lines += [f"{key}: {value}" for key, value in headers.items() if key.lower() not in _HOP]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """``data`` as one chunk; of nothing, the last."""
    return b"%x\r\n%s\r\n" % (len(data), data)


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next request's head; None where the client is done."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = raw[:-4].decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    return Head(method, target, tuple((key, value.strip()) for key, _, value in pairs))


async def read_body(reader: asyncio.StreamReader, head: Head) -> bytes:
    assert not head.header("transfer-encoding"), head
    return await reader.readexactly(int(head.header("content-length") or 0))
