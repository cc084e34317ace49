"""The ways bytes take between here and a Pod, ours and kubectl's, in one shape: what to read and to write.

Used by ``tools.bench.throughput``. Each is a context that ends the process or the connection it began.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from moorage.ports.link import ProcessSpec
from moorage.sessions.verbs import Verbs
from tools.bench.place import Place

PIECE = 1 << 20


@dataclass(frozen=True)
class Pipe:
    """``read`` gives the next bytes, ``b""`` at the end; ``write`` returns when more may come."""

    read: Callable[[], Awaitable[bytes]]
    write: Callable[[bytes], Awaitable[None]]


@contextlib.asynccontextmanager
async def exec_pipe(place: Place, pod: str, command: Sequence[str]) -> AsyncIterator[Pipe]:
    """Our exec adapter."""
    stream = await place.cluster.exec(pod, "agent", command)

    async def read() -> bytes:
        chunk = await stream.read()
        return chunk.data if chunk else b""

    try:
        yield Pipe(read, stream.write)
    finally:
        await stream.close()


@contextlib.asynccontextmanager
async def forward_pipe(place: Place, pod: str, port: int) -> AsyncIterator[Pipe]:
    """Our port-forward adapter."""
    stream = await place.cluster.port_forward(pod, port)
    try:
        yield Pipe(stream.read, stream.write)
    finally:
        await stream.close()


@contextlib.asynccontextmanager
async def link_pipe(verbs: Verbs, session: str, command: Sequence[str]) -> AsyncIterator[Pipe]:
    """A process beside a session's agent, over the link."""
    process = await verbs.exec(session, ProcessSpec(argv=command))

    async def read() -> bytes:
        chunk = await process.read()
        return chunk[1] if chunk else b""

    try:
        yield Pipe(read, process.write)
    finally:
        await process.close()


@contextlib.asynccontextmanager
async def kubectl_exec_pipe(place: Place, pod: str, command: Sequence[str]) -> AsyncIterator[Pipe]:
    """``kubectl exec -i`` and its standard streams."""
    async with _kubectl(place, "exec", "-i", pod, "--", *command) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield _stream_pipe(process.stdout, process.stdin)


@contextlib.asynccontextmanager
async def kubectl_forward_pipe(place: Place, pod: str, port: int) -> AsyncIterator[Pipe]:
    """``kubectl port-forward`` and one connection to its local port."""
    async with _kubectl(place, "port-forward", f"pod/{pod}", f":{port}") as process:
        assert process.stdout is not None
        said = re.search(rb"127\.0\.0\.1:(\d+)", await process.stdout.readline())
        assert said is not None
        reader, writer = await asyncio.open_connection("127.0.0.1", int(said[1]), limit=2 * PIECE)
        try:
            yield _stream_pipe(reader, writer)
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def _kubectl(place: Place, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    argv = place.live.kubectl_argv("-n", place.namespace, *words)
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=2 * PIECE
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _stream_pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Pipe:
    async def write(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    return Pipe(lambda: reader.read(PIECE), write)
