"""What makes an owner look again: a change of its Pod, an end of its agent, a new intent, or time.

Used by ``sessions.owner``. It carries no facts: whoever is woken reads everything anew.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from moorage.core.errors import ApiError, MoorageError
from moorage.core.kinds import PODS
from moorage.core.session import Inventory
from moorage.ports.cluster import Cluster
from moorage.ports.link import Link

INTENT_LOOK = 0.5
"""Seconds between two looks at the intent (a local read)."""


class Wake:
    """One owner's alarm clock."""

    def __init__(
        self, cluster: Cluster, inventory: Inventory, intent_number: Callable[[], Awaitable[int]]
    ) -> None:
        self._cluster = cluster
        self._inventory = inventory
        self._intent_number = intent_number
        self._event = asyncio.Event()
        self._exit: asyncio.Task[None] | None = None

    def clear(self) -> None:
        """Called before a round reads: a change after this wakes the next wait."""
        self._event.clear()

    async def run(self) -> None:
        """Watch the Pod for as long as this runs. A watch that may not be opened costs only speed."""
        selector = f"metadata.name={self._inventory.pod_name}"
        with contextlib.suppress(ApiError):
            async with self._cluster.watch(PODS, self._inventory.namespace, field_selector=selector) as cache:
                while True:
                    await cache.changed()
                    self._event.set()

    def watch_link(self, link: Link) -> None:
        """Wake when the agent on this link ends, or the link does."""
        if self._exit is not None:
            self._exit.cancel()
        self._exit = asyncio.create_task(self._until_exit(link))

    async def _until_exit(self, link: Link) -> None:
        try:
            with contextlib.suppress(MoorageError):
                await link.wait_exit()
        finally:
            if self._exit is asyncio.current_task():  # else a newer link is watched
                self._event.set()

    async def wait(self, seconds: float | None, intent_number: int) -> None:
        """Until something changed, ``seconds`` passed, or an intent newer than ``intent_number`` came."""
        loop = asyncio.get_running_loop()
        ends = None if seconds is None else loop.time() + seconds
        while not self._event.is_set():
            left = INTENT_LOOK if ends is None else min(INTENT_LOOK, ends - loop.time())
            if left <= 0:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._event.wait(), left)
                return
            if await self._intent_number() > intent_number:
                return

    async def newer_intent(self, intent_number: int) -> None:
        """Until there is an intent newer than ``intent_number``."""
        while True:
            if await self._intent_number() > intent_number:
                return
            await asyncio.sleep(INTENT_LOOK)

    async def close(self) -> None:
        if self._exit is not None:
            self._exit.cancel()
            await asyncio.gather(self._exit, return_exceptions=True)
