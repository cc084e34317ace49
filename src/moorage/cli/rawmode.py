"""The local terminal in raw mode, and the keys that leave an attached session.

Used by ``cli.follow`` and ``exec -t``. Restores the terminal whatever happens.
"""

from __future__ import annotations

import os
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from moorage.cli.terminal import Terminal

DETACH_KEYS: Final = b"\x10\x11"
"""ctrl-p, ctrl-q."""


@contextmanager
def raw_mode(terminal: Terminal, fd: int = 0) -> Iterator[None]:
    """Every key goes to the other side: no echo, no line editing, no signals from keys."""
    before = termios.tcgetattr(fd)
    tty.setraw(fd, termios.TCSADRAIN)
    terminal.raw = True
    try:
        yield
    finally:
        terminal.raw = False
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def window_size(fd: int = 0) -> tuple[int, int]:
    """(columns, rows) of the local terminal; 80 by 24 where it does not say."""
    try:
        size = os.get_terminal_size(fd)
    except OSError:
        return 80, 24
    return (size.columns or 80, size.lines or 24)


class DetachScanner:
    """Finds the detach keys in typed bytes, also when they come in two reads."""

    def __init__(self, keys: bytes = DETACH_KEYS) -> None:
        self._keys = keys
        self._held = b""

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        """(bytes to pass on, were the keys typed?). The start of the keys is held back until the next
        byte tells; bytes after the keys are dropped."""
        data = self._held + data
        self._held = b""
        at = data.find(self._keys)
        if at >= 0:
            return data[:at], True
        for length in range(len(self._keys) - 1, 0, -1):
            if data.endswith(self._keys[:length]):
                self._held = data[-length:]
                return data[:-length], False
        return data, False
