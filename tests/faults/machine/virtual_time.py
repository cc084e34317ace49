"""An event loop whose time passes only while something happens: waits of the product cost nothing.

Used by the state machine, where client, API server, node and agentctl share one loop. Code that waits for a
minute is resumed at once when nobody else has anything to do; nothing of the product is changed for that.
Threads (the store's) are waited for as long as they are at work.
"""

from __future__ import annotations

import asyncio
import linecache
import selectors
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

GRACE = 0.001
"""Real seconds without an event after which nothing is on its way any more, unless a thread is at work."""


class SkippingSelector(selectors.EpollSelector):
    """Selects as the system does; where all would only wait, time is skipped."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0
        self.jumps = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        idle = 0
        while idle < 2:
            if events := super().select(GRACE):
                return events
            idle = 0 if _threads_at_work() else idle + 1
        if timeout is None:  # nothing is planned at all: only a thread or a signal can go on
            return super().select(0.05)
        self.skipped += timeout
        self.jumps += 1
        return []


def _threads_at_work() -> bool:
    """Whether another thread does anything but wait for work: it then stands where it takes it, and the
    kernel has not yet given it a processor to go on."""
    frames = sys._current_frames()
    return any(
        thread is not threading.current_thread() and not _idle(thread, frames)
        for thread in threading.enumerate()
    )


def _idle(thread: threading.Thread, frames: Mapping[int, FrameType]) -> bool:
    frame = frames.get(thread.ident or 0)
    if frame is None or ".get(" not in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
        return frame is None
    try:
        state = Path(f"/proc/self/task/{thread.native_id}/stat").read_bytes()
    except OSError:
        return True
    return state.rpartition(b") ")[2][:1] not in b"RD"


class VirtualLoop(asyncio.SelectorEventLoop):
    """``time`` is monotonic, and ahead of the system's by what was skipped."""

    def __init__(self) -> None:
        self._skipping = SkippingSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        return time.monotonic() + self._skipping.skipped

    @property
    def skipped(self) -> float:
        """Seconds that nobody had to wait."""
        return self._skipping.skipped

    @property
    def jumps(self) -> int:
        """How often time was skipped."""
        return self._skipping.jumps

    def call_exception_handler(self, context: Mapping[str, Any]) -> None:
        """A connection that a fault has cut is no news."""
        if not isinstance(context.get("exception"), ConnectionError | asyncio.CancelledError):
            super().call_exception_handler(dict(context))


class VirtualClock:
    """Implements ``ports.clock.Clock`` on such a loop. ``offset``: seconds by which it is wrong."""

    def __init__(self, loop: VirtualLoop, offset: float = 0.0) -> None:
        self._loop, self.offset = loop, offset

    def now(self) -> float:
        return time.time() + self._loop.skipped + self.offset

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)  # sleep: it is the port's own, and takes no time here
