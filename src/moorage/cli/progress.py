"""Progress on stderr: one line per real event, with the time since the command began.

Verbs hand a ``ProgressPrinter`` to SessionVerbs as its ``report``. No spinner: a line is written when
something happened, and never otherwise.
"""

from __future__ import annotations

import time

from moorage.cli.terminal import Terminal
from moorage.ports.sessions import Progress


class ProgressPrinter:
    """``-q`` silences all but warnings."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._began = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        if progress.step == "warning":
            self._terminal.say(f"warning: {progress.message}")
            return
        elapsed = time.monotonic() - self._began
        self._terminal.note(f"{elapsed:7.1f}s  {progress.step:<9} {progress.message}")
