"""A command that runs in a sandbox: read to its end, whoever listens. Made by ``sdk.commands`` and
``sdk.pty``.

It lives as long as the sandbox object that began it: ``close`` hangs up on what still runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import Protocol

from moorage.core.errors import MoorageError
from moorage.ports.link import ExitStatus, RemoteProcess
from moorage.sdk.values import ProcessInfo


class Sink(Protocol):
    """Who listens. ``take`` must not raise."""

    async def take(self, channel: int, data: bytes) -> None: ...


class Running:
    """``limit``: seconds after which it is killed (None: never); ``timed_out``: it was."""

    def __init__(self, process: RemoteProcess, info: ProcessInfo, limit: float | None) -> None:
        self.info = info
        self.timed_out = False
        self._process = process
        self._limit = limit
        self._sinks: list[Sink] = []
        self._timer: asyncio.TimerHandle | None = None
        self._killing: asyncio.Task[bool] | None = None
        self.end: asyncio.Task[ExitStatus]

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def over(self) -> bool:
        return self.end.done()

    def begin(self, sink: Sink) -> None:
        """Read from now on."""
        self._sinks.append(sink)
        self.end = asyncio.create_task(self._read())
        self.end.add_done_callback(_looked_at)
        if self._limit is not None:
            self._timer = asyncio.get_running_loop().call_later(self._limit, self._expire)

    def listen(self, sink: Sink) -> None:
        self._sinks.append(sink)

    def leave(self, sink: Sink) -> None:
        with contextlib.suppress(ValueError):
            self._sinks.remove(sink)

    async def _read(self) -> ExitStatus:
        try:
            while (part := await self._process.read()) is not None:
                for sink in list(self._sinks):
                    await sink.take(*part)
            return await self._process.wait()
        finally:
            if self._timer is not None:
                self._timer.cancel()
            await self._process.close()

    def _expire(self) -> None:
        self.timed_out = True
        self._killing = asyncio.create_task(self.kill())

    async def kill(self) -> bool:
        """SIGKILL to its group; False when it is over already."""
        if self.over:
            return False
        try:
            await self._process.signal(signal.SIGKILL)
        except MoorageError:  # it ended meanwhile, or the link did: then hanging up ends it
            await self._process.close()
        return True

    async def write(self, data: bytes) -> None:
        await self._process.write(data)

    async def close_stdin(self) -> None:
        await self._process.close_stdin()

    async def resize(self, cols: int, rows: int) -> None:
        await self._process.resize(cols, rows)

    async def close(self) -> None:
        """Hang up. Repeatable."""
        if not self.over:
            self.end.cancel()
            await asyncio.gather(self.end, return_exceptions=True)


def _looked_at(task: asyncio.Task[ExitStatus]) -> None:
    """Nobody has to wait for a command."""
    if not task.cancelled():
        task.exception()
