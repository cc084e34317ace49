"""Byte streams, as the adapters hand them to the link and to the verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class ByteStream(Protocol):
    """A duplex byte stream (a port-forward, the stdin/stdout of a tunnel, a dialled port)."""

    async def read(self) -> bytes:
        """The next bytes, at least one; ``b""`` once the other side has ended. LinkError when broken."""

    async def write(self, data: bytes) -> None:
        """Send all of ``data``. LinkError when broken."""

    async def close(self) -> None:
        """Close both directions; repeatable."""


class DialledStream(ByteStream, Protocol):
    """A connection to a port in the Pod: each direction can end by itself, as TCP has it."""

    async def close_write(self) -> None:
        """The other end reads an end of file and may still answer. LinkError when broken."""


@dataclass(frozen=True)
class ExecChunk:
    """Output of a Pod exec: ``channel`` is 1 (stdout) or 2 (stderr)."""

    channel: int
    data: bytes


@dataclass(frozen=True)
class ExecResult:
    """How a Pod exec ended. ``exit_code`` is None when the API never said (never treat that as success)."""

    exit_code: int | None
    reason: str = ""
    message: str = ""


class ExecStream(Protocol):
    """One ``pods/exec``. It is drained at full speed into a spool, whatever the reader does."""

    async def read(self) -> ExecChunk | None:
        """The next output in order; None once the stream has ended."""

    async def write(self, data: bytes) -> None:
        """Bytes for stdin."""

    async def close_stdin(self) -> None:
        """Half-close (v5). On v4 there is none: length-frame the input instead."""

    async def result(self) -> ExecResult:
        """The final status. Waits for the stream's end."""

    async def close(self) -> None:
        """Drop the connection; repeatable."""
