"""A queue of keys for level-triggered work: each key waits once, runs once, and backs off when it fails.

Called by loops that reconcile: watches add keys, workers take them. Carries no facts, only names: who
takes a key reads everything anew.

Guarantees: a key added many times while it waits is handed out once; a key added while it runs is
handed out again afterwards, never to two workers at a time. Of several times a key shall become due,
the soonest holds.
"""

from __future__ import annotations

import asyncio
from collections import deque

FIRST_BACKOFF = 0.05
MAX_BACKOFF = 300.0


class QueueClosed(Exception):
    """The queue was closed and hands out no more keys."""


class WorkQueue:
    """Keys in the order in which they became due. All methods are called from one event loop."""

    def __init__(self, *, first_backoff: float = FIRST_BACKOFF, max_backoff: float = MAX_BACKOFF) -> None:
        self._first_backoff, self._max_backoff = first_backoff, max_backoff
        self._due: dict[str, None] = {}
        self._running: set[str] = set()
        self._again: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._failures: dict[str, int] = {}
        self._workers: deque[asyncio.Future[None]] = deque()
        self._closed = False

    def __len__(self) -> int:
        """Keys that are due and not taken."""
        return len(self._due)

    def add(self, key: str) -> None:
        """Make ``key`` due now."""
        self._drop_timer(key)
        if self._closed or key in self._due:
            return
        if key in self._running:
            self._again.add(key)
            return
        self._due[key] = None
        self._wake()

    def add_after(self, key: str, seconds: float) -> None:
        """Make ``key`` due in ``seconds``, unless it already is or will be sooner."""
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if self._closed or key in self._due or (timer and timer.when() <= loop.time() + seconds):
            return
        self._drop_timer(key)
        self._timers[key] = loop.call_later(seconds, self.add, key)

    async def get(self) -> str:
        """The next key; call ``done`` when finished with it. Raises QueueClosed."""
        while not self._due:
            if self._closed:
                raise QueueClosed
            worker = asyncio.get_running_loop().create_future()
            self._workers.append(worker)
            try:
                await worker
            except asyncio.CancelledError:
                if worker.done() and not worker.cancelled():
                    self._wake()  # we were chosen and go away: choose another
                raise
        key = next(iter(self._due))
        del self._due[key]
        self._running.add(key)
        return key

    def done(self, key: str) -> None:
        """The work on ``key`` ended; if it was added meanwhile, it is due again."""
        self._running.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def retry(self, key: str) -> float:
        """Make a key that failed due later, each time twice as late. Returns the seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        seconds = min(self._max_backoff, self._first_backoff * 2.0 ** min(failures, 30))
        self.add_after(key, seconds)
        return seconds

    def forget(self, key: str) -> None:
        """A key succeeded: its next failure starts with the shortest wait again."""
        self._failures.pop(key, None)

    def close(self) -> None:
        """Hand out nothing more and wake all workers."""
        self._closed = True
        self._due.clear()
        for key in list(self._timers):
            self._drop_timer(key)
        while self._workers:
            self._wake()

    def _drop_timer(self, key: str) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def _wake(self) -> None:
        while self._workers:
            worker = self._workers.popleft()
            if not worker.done():
                worker.set_result(None)
                return
