"""The view of a reflector that others hold: implements ``ports.cluster.ObjectCache``.

Filled by ``kube.reflector``. Says Unknown rather than something old: before the first sync, and while
the watch has been down for longer than it takes to reconnect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType

from moorage.core.kinds import Json
from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.kube.reflector_state import ReflectorState

STALE_AFTER = 15.0
"""Seconds a watch may be down before its objects no longer count as known."""


class WatchedObjects:
    """Objects by name. Consumers are level-triggered: one wake-up may stand for many changes."""

    def __init__(self, state: ReflectorState, monotonic: Callable[[], float]) -> None:
        self._state, self._monotonic = state, monotonic
        self._down_since: float | None = monotonic()
        self._why = "not read yet"
        self._news = False
        self._waiting: set[asyncio.Future[None]] = set()

    def get(self, name: str) -> Observed[Json]:
        why = self.stale()
        if why:
            return Unknown(why)
        found = self._state.objects.get(name)
        return Absent() if found is None else Present(found)

    def items(self) -> Mapping[str, Json]:
        """All objects last seen; ask ``stale`` before concluding anything from what is missing."""
        return MappingProxyType(self._state.objects)

    def stale(self) -> str:
        """Why nothing can be said now; "" while the view is current."""
        if not self._state.synced:
            return self._why
        down = self._down_since
        if down is not None and self._monotonic() - down > STALE_AFTER:
            return f"the watch is down: {self._why}"
        return ""

    async def changed(self, timeout: float | None = None) -> bool:
        """Wait for a change since the last call returned, so none is missed between two calls."""
        if not self._news:
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.add(waiter)
            try:
                async with asyncio.timeout(timeout):
                    await waiter
            except TimeoutError:
                return False
            finally:
                self._waiting.discard(waiter)
        self._news = False
        return True

    def up(self) -> None:
        """The watch is connected."""
        self._down_since = None

    def down(self, why: str) -> None:
        """The watch is not connected; ``why`` is for people."""
        self._why = why
        if self._down_since is None:
            self._down_since = self._monotonic()

    def notify(self) -> None:
        """Something changed."""
        self._news = True
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
