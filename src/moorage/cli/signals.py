"""Signal handlers of the event loop, for as long as a verb needs them; inner ones overrule outer ones.

asyncio's own Ctrl-C handler is not relied on: a signal that arrives just before the loop goes to sleep is
noted by it, but does not wake the loop. What was ignored when we were started (nohup, a script's background
job) stays ignored.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from moorage.cli.terminated import Terminated

Handler = Callable[[], None]

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask us to end."""

_active: dict[signal.Signals, list[Handler]] = {}
"""Handlers in force, the innermost last. A process runs one loop in its main thread, and no other may
handle signals."""


@contextmanager
def on_signals(handlers: Mapping[signal.Signals, Handler]) -> Iterator[None]:
    """Call each handler in the event loop when its signal arrives. Outside the main thread no signal can
    be had, and nothing is done."""
    if not _may_handle():
        yield
        return
    loop = asyncio.get_running_loop()
    heard = {number: handler for number, handler in handlers.items() if not _ignored(number)}
    for number, handler in heard.items():
        _active.setdefault(number, []).append(handler)
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in heard:
            _active[number].pop()
            if _active[number]:
                loop.add_signal_handler(number, _active[number][-1])
            else:
                loop.remove_signal_handler(number)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """For a read that blocks the event loop, whose handlers nobody would call: the kernel ends the process,
    without a word (a handler of Python's might be noted just before the read, and never run). Only where
    nothing is under way."""
    before = {number: signal.getsignal(number) for number in ENDING if _may_handle() and not _ignored(number)}
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
            signal.siginterrupt(number, False)  # as the loop had it


async def interruptible(work: Coroutine[Any, Any, int]) -> int:
    """``work``, cancelled by a signal that asks us to end; then KeyboardInterrupt or Terminated is raised.
    Another one cancels what it does to leave in order."""
    task = asyncio.current_task()
    assert task is not None
    came: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        came.append(number)
        task.cancel()

    with on_signals({number: partial(stop, number) for number in ENDING}):
        try:
            return await work
        except asyncio.CancelledError:
            if not came:
                raise
            raise (KeyboardInterrupt if came[0] is signal.SIGINT else Terminated(came[0])) from None


def _may_handle() -> bool:
    return threading.current_thread() is threading.main_thread()


def _ignored(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN
