"""The shim's event loop: readiness of file descriptors and the end of children. Called by ``shim.main``.

asyncio would take longer to import than a container takes to start.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Loop:
    """One per shim. Callbacks get the events that are ready."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._read, self._wakeup = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._wakeup, False)
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.on_child: Callable[[int, int], None] = lambda pid, status: None
        self.idle: Callable[[], None] = lambda: None
        self.look: Callable[[], float] = lambda: 0.0
        self.running = True
        self.watch(self._read, READ, self._woken)

    def watch(self, fd: int, events: int, callback: Callable[[int], None]) -> None:
        """Call back while ``events`` are ready on ``fd``; 0 only remembers it. Replaces what was asked
        before.
        """
        with contextlib.suppress(KeyError):
            self._selector.unregister(fd)
        if events:
            self._selector.register(fd, events, callback)

    def forget(self, fd: int) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(fd)

    def run(self, look_every: float) -> None:
        """Until ``running`` is cleared. ``idle`` is called when nothing happened for that many seconds at
        most; ``look`` when something did, and after as many seconds as it returned (0: it waits for that)."""
        due = 0.0
        while self.running:
            wait = max(0.0, due - time.monotonic()) if due else look_every
            ready = self._selector.select(min(wait, look_every))
            for key, events in ready:
                if self._selector.get_map().get(key.fd) is key:
                    key.data(events)
            if not ready:
                self.idle()
            if not due or time.monotonic() >= due:
                again = self.look()
                due = time.monotonic() + again if again else 0.0

    def _woken(self, _: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)
        self.reap()

    def reap(self) -> None:
        """Collect the children that have ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.on_child(pid, status)
