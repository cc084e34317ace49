"""The program: what ``moorage`` and ``python -m moorage`` run. Imported by nothing else, since it decides how
the process takes Ctrl-C: at once and without a word, also while it is still loading or already ending."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130


def _quiet_interrupts() -> None:
    """Ctrl-C ends the process here and now. Verbs put handlers of their own in front; whoever started us with
    Ctrl-C switched off (a shell's background job) keeps it so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))


_quiet_interrupts()  # before anything is loaded: that is where the first tenth of a second goes


def run() -> None:
    """See ``moorage.main``."""
    from moorage.main import main

    try:
        main()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    finally:
        _quiet_interrupts()


if __name__ == "__main__":
    run()
