"""How a fake cluster wakes those who wait for it: owners by their watch, tests by each call."""

from __future__ import annotations

import asyncio

from moorage.core.kinds import Json
from moorage.core.observed import Observed


class Pulse:
    """Beats with each call, so that a test can wait for the next one."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def beat(self) -> None:
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def next(self) -> None:
        await self._event.wait()


class FakeCache:
    """A watch without contents: it only wakes."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def get(self, name: str) -> Observed[Json]:
        raise NotImplementedError

    def items(self) -> dict[str, Json]:
        raise NotImplementedError

    async def changed(self, timeout: float | None = None) -> bool:
        await self.event.wait()
        self.event.clear()
        return True
