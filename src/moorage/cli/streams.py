"""Standard streams as asynchronous byte streams, without touching their flags.

Used by the verbs that carry an agent's bytes (run, attach, exec, logs, cp). stdin, stdout and stderr are
shared with the shell that started us, so they are never made non-blocking: readiness is asked for first,
and then at most one pipe buffer is moved. A slow reader thus slows the agent's output and nothing else.
"""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable

from moorage.cli.terminal import OutputClosed, unwritable

CHUNK = 64 * 1024
_SAFE = select.PIPE_BUF
"""A descriptor that polls writable takes this much without blocking (POSIX)."""


class ByteWriter:
    """Writes bytes to a descriptor unchanged, at once, and waits where it would block. ``size``: bytes
    per write; only a descriptor of our own, made non-blocking, may take more than the default."""

    def __init__(self, fd: int, size: int = _SAFE) -> None:
        self._fd = fd
        self._size = size
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        self._poll = poll

    async def write(self, data: bytes) -> None:
        """All of ``data``. Raises OutputClosed when the reader has gone, MoorageError when
        it cannot be written (a full disk)."""
        view = memoryview(data)
        while view:
            if not self._poll.poll(0):
                await self._writable()
            try:
                view = view[os.write(self._fd, view[: self._size]) :]
            except BrokenPipeError as error:
                raise OutputClosed from error
            except BlockingIOError:  # someone else made the shared descriptor non-blocking
                await self._writable()
            except OSError as error:
                raise unwritable(error) from error

    async def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        await _ready(self._fd, loop.add_writer, loop.remove_writer)


class ByteReader:
    """Reads bytes from a descriptor as they come."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def read(self, size: int = CHUNK) -> bytes:
        """The next bytes, ``b""`` at the end (a hung-up terminal is an end too)."""
        loop = asyncio.get_running_loop()
        try:
            await _ready(self._fd, loop.add_reader, loop.remove_reader)
        except PermissionError:
            pass  # regular files and /dev/null cannot be waited for: they never block
        except OSError:
            return b""
        try:
            return os.read(self._fd, size)
        except OSError:
            return b""


async def _ready(fd: int, add: Callable[..., object], remove: Callable[[int], object]) -> None:
    """Wait until the loop reports ``fd`` ready."""
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    add(fd, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        remove(fd)


def stdin_reader() -> ByteReader:
    return ByteReader(0)


def stdout_writer() -> ByteWriter:
    return ByteWriter(1)


def stderr_writer() -> ByteWriter:
    return ByteWriter(2)
