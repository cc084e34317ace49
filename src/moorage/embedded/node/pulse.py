"""Tells any number of waiting tasks that something changed. Called by ``node.worker``, ``node.logs``."""

from __future__ import annotations

import asyncio
import contextlib


class Pulse:
    """``count`` grows with every beat; who notes it before looking misses none."""

    def __init__(self) -> None:
        self.count = 0
        self._event = asyncio.Event()

    def beat(self) -> None:
        self.count += 1
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def after(self, count: int, limit: float | None = None) -> None:
        """Return once ``count`` is no longer the newest, or after ``limit`` seconds."""
        if self.count != count:
            return
        # Not wait_for: before Python 3.12 it may swallow a cancellation that comes with the beat.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._event.wait()
