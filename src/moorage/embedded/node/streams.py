"""Commands in containers, their own streams, and connections into a Pod. Called by ``node.local``; implements
``embedded.seam``'s ExecSession and ByteStream over the shim's frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from moorage.embedded.node.shims import (
    END_OF_INPUT,
    EXIT,
    HEADER,
    SIZE,
    STDIN,
    Shim,
    ShimGone,
    Streams,
)
from moorage.embedded.seam import CommandNotStarted, ExecExit, NodeError

CHUNK = 64 << 10


class ShimSession:
    """One exec or attach."""

    def __init__(self, streams: Streams) -> None:
        self._reader, self._writer = streams
        self._end: asyncio.Future[ExecExit] = asyncio.get_running_loop().create_future()
        self._input_open = True

    async def read(self) -> tuple[int, bytes] | None:
        """The next output; None at the end. The end is told by ``wait``."""
        while not self._end.done():
            try:
                kind, length = HEADER.unpack(await self._reader.readexactly(HEADER.size))
                data = await self._reader.readexactly(length)
            except (OSError, asyncio.IncompleteReadError):
                self._finish(ExecExit(137, "the Pod's shim has gone"))
                return None
            if kind != EXIT:
                return kind, data
            self._finish(ExecExit(json.loads(data)["code"]))
        return None

    def _finish(self, how: ExecExit) -> None:
        if not self._end.done():
            self._end.set_result(how)

    async def write(self, data: bytes) -> None:
        if self._input_open:
            for at in range(0, len(data), CHUNK):
                await self._send(STDIN, data[at : at + CHUNK])

    async def close_stdin(self) -> None:
        if self._input_open:
            self._input_open = False
            await self._send(END_OF_INPUT, b"")

    async def resize(self, columns: int, rows: int) -> None:
        await self._send(SIZE, json.dumps([columns, rows]).encode())

    async def _send(self, kind: int, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._writer.write(HEADER.pack(kind, len(data)) + data)
            await self._writer.drain()

    async def wait(self) -> ExecExit:
        """Only with a reader beside it, or after one, does this return: the end comes after the output."""
        return await asyncio.shield(self._end)

    async def close(self) -> None:
        self._finish(ExecExit(None, "the stream was closed"))
        self._writer.close()


async def open_session(shim: Shim, op: str, container_id: str, **what: Any) -> ShimSession:
    """Start a command (``exec``) or join the container's streams (``attach``). Raises NodeError."""
    try:
        answer, streams = await shim.open(op, id=container_id, **what)
    except ShimGone as error:
        raise NodeError(f"container not found: {error}", status=500) from error
    if "error" in answer:
        streams[1].close()
        if answer.get("gone"):
            raise NodeError("container not found or not running")
        raise CommandNotStarted(
            "error executing command in container: failed to exec in container: OCI runtime exec failed: "
            f"exec failed: unable to start container process: {answer['error']}"
        )
    return ShimSession(streams)


async def run_command(shim: Shim, container_id: str, command: list[str], **what: Any) -> tuple[int, str]:
    """Run to its end without input: exit code and what it said (16 KiB at most)."""
    session = await open_session(shim, "exec", container_id, argv=command, tty=False, stdin=False, **what)
    said = b""
    try:
        while (output := await session.read()) is not None:
            said = (said + output[1])[: 16 << 10]
        return (await session.wait()).code or 0, said.decode(errors="replace").strip()
    finally:
        await session.close()


class SocketStream:
    """A connection to a port of the host, or to agentctl's socket."""

    def __init__(self, streams: Streams) -> None:
        self._reader, self._writer = streams

    async def read(self) -> bytes:
        return await self._reader.read(CHUNK)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        self._writer.transport.abort()
