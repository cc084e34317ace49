"""Looking again and again: used by ``wait``, ``ls --watch`` and ``events --watch``.

Records are looked at in turns: a change made by another command on this machine tells nobody by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

T = TypeVar("T")

INTERVAL: Final = 1.0
"""Seconds between the end of one look and the next."""
_VOLATILE: Final = ("observed_at",)
"""Keys that change with every look."""


async def looks(look: Callable[[], Awaitable[T]], limit: float | None = None) -> AsyncIterator[T]:
    """What each look brings, the first at once. With ``limit`` (seconds) it ends after the last look that
    began in time; 0 is one look."""
    loop = asyncio.get_running_loop()
    end = None if limit is None else loop.time() + limit
    while True:
        yield await look()
        pause = INTERVAL if end is None else min(INTERVAL, end - loop.time())
        if end is not None and pause <= 0:
            return
        await asyncio.sleep(pause)


class Changes:
    """What is new, different or gone since the last look, by key."""

    def __init__(self) -> None:
        self._last: dict[str, dict[str, Any]] = {}

    def since(self, now: Mapping[str, dict[str, Any]]) -> list[tuple[str, str, dict[str, Any]]]:
        """(ADDED, MODIFIED or DELETED; key; object), in the order of ``now``, the deleted ones last."""
        found = []
        for key, value in now.items():
            if key not in self._last:
                found.append(("ADDED", key, value))
            elif _lasting(value) != _lasting(self._last[key]):
                found.append(("MODIFIED", key, value))
        found += [("DELETED", key, value) for key, value in self._last.items() if key not in now]
        self._last = dict(now)
        return found


def _lasting(value: dict[str, Any]) -> dict[str, Any]:
    return {key: part for key, part in value.items() if key not in _VOLATILE}
