"""One controller: wakes on the changes it cares for and brings things to where they belong.

Run by ``embedded.cluster`` for each controller. Level-triggered: ``reconcile`` looks at all there is, so a
missed or merged wake loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from moorage.core.errors import ApiError
from moorage.embedded.storage.store import Change, Store

_AGAIN = 0.05
"""Seconds after which a pass that met a conflict is repeated."""


class Controller(Protocol):
    """One controller."""

    def wants(self, resource: str, change: Change) -> bool:
        """Does a change (of a resource, by its store key) call for another pass?"""

    def reconcile(self) -> Awaitable[None] | None:
        """One pass over all there is."""


async def keep(store: Store, controller: Controller) -> None:
    """Run a controller now and after changes, for ever."""
    changed = asyncio.Event()
    changed.set()

    def listen(resource: str, change: Change) -> None:
        if not changed.is_set() and controller.wants(resource, change):
            changed.set()

    with store.listening(listen):
        while True:
            await changed.wait()
            changed.clear()
            try:
                waiting = controller.reconcile()
                if waiting is not None:
                    await waiting
            except ApiError:
                await asyncio.sleep(_AGAIN)  # somebody else wrote meanwhile: look again
                changed.set()


async def run_all(store: Store, controllers: list[Controller]) -> None:
    """Run controllers until cancelled."""
    async with asyncio.TaskGroup() as group:
        for controller in controllers:
            group.create_task(keep(store, controller), name=type(controller).__name__)
