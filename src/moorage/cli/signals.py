"""Signal handlers of the event loop, for as long as a verb needs them; inner ones overrule outer ones.

asyncio's own Ctrl-C handler is not relied on: a signal that arrives just before the loop goes to sleep is
noted by it, but does not wake the loop.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Handler = Callable[[], None]

_active: dict[signal.Signals, list[Handler]] = {}
"""Handlers in force, the innermost last. A process runs one loop in its main thread, and no other may
handle signals."""


@contextmanager
def on_signals(handlers: Mapping[signal.Signals, Handler]) -> Iterator[None]:
    """Call each handler in the event loop when its signal arrives. Outside the main thread no signal can
    be had, and nothing is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for number, handler in handlers.items():
        _active.setdefault(number, []).append(handler)
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            _active[number].pop()
            if _active[number]:
                loop.add_signal_handler(number, _active[number][-1])
            else:
                loop.remove_signal_handler(number)


async def interruptible(work: Coroutine[Any, Any, int]) -> int:
    """``work``, cancelled by Ctrl-C, which then raises KeyboardInterrupt."""
    task = asyncio.current_task()
    assert task is not None
    interrupted = False

    def stop() -> None:
        nonlocal interrupted
        interrupted = True
        task.cancel()

    with on_signals({signal.SIGINT: stop}):
        try:
            return await work
        except asyncio.CancelledError:
            if interrupted:
                raise KeyboardInterrupt from None
            raise
