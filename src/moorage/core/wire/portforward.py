"""The messages of ``pods/portforward`` over WebSocket, v4, for one port: bytes in, events out.

Called by ``kube.portforward``. Never reads, waits or decides about time.

Channel 0 carries data, channel 1 an error text. The first message on each is the port as a
little-endian uint16. One connection is one TCP connection in the Pod; there is no half-close.
Source: the CRI streaming server's ``portforward`` package.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

SUBPROTOCOLS = ("v4.channel.k8s.io",)

CHUNK = 128 * 1024
"""Payload bytes in one message."""

_DATA, _ERROR = 0, 1
_LONGEST_REASON = 16 * 1024  # bytes; nothing a node has to say is longer, and nobody reads on


class ForwardProtocolError(Exception):
    """The other side sent something that is no port-forward message."""


@dataclass(frozen=True)
class Opened:
    """Both channels have announced our port; the Pod's side has not necessarily been dialled yet."""


@dataclass(frozen=True)
class Received:
    """Bytes from the port."""

    data: bytes


@dataclass(frozen=True)
class Refused:
    """The node could not connect, or lost the connection; ``message`` is its own text."""

    message: str


ForwardEvent: TypeAlias = Opened | Received | Refused


class ForwardProtocol:
    """One forwarded connection to ``port``."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._announced: set[int] = set()
        self._error = b""

    def receive(self, message: bytes) -> ForwardEvent | None:
        """Read one binary message."""
        if not message:
            raise ForwardProtocolError("an empty message without a channel")
        channel, data = message[0], message[1:]
        if channel not in (_DATA, _ERROR):
            raise ForwardProtocolError(f"a message on unknown channel {channel}")
        if channel not in self._announced:
            return self._announce(channel, data)
        if not data:
            return None
        if channel == _DATA:
            return Received(data)
        self._error = (self._error + data)[:_LONGEST_REASON]
        return Refused(self._error.decode("utf-8", "replace").strip())

    def send(self, data: bytes) -> Iterator[bytes]:
        """The messages that carry ``data`` to the port."""
        view = memoryview(data)
        for start in range(0, len(view), CHUNK):
            yield b"\x00" + view[start : start + CHUNK]

    def _announce(self, channel: int, data: bytes) -> Opened | None:
        if not data:
            return None
        if len(data) != 2 or int.from_bytes(data, "little") != self._port:
            raise ForwardProtocolError(f"channel {channel} did not announce port {self._port}")
        self._announced.add(channel)
        return Opened() if len(self._announced) == 2 else None
