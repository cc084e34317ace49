"""Signal handlers of the event loop for as long as a verb needs them."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def on_signals(handlers: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Call each handler in the event loop when its signal arrives. Outside the main thread no signal can
    be had, and nothing is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
