"""The program: what ``moorage`` and ``python -m moorage`` run. Imported by nothing else, since it decides how
the process takes Ctrl-C: at once and without a word, also while it is still loading or already ending."""

from __future__ import annotations

import gc
import os
import signal
import sys

INTERRUPTED = 130

YOUNG = 100_000
"""New objects between two looks for garbage. Loading makes hundreds of thousands that all stay, and Python's
own 700 would have each of them looked at again and again."""


def _quiet_interrupts() -> None:
    """Ctrl-C ends the process here and now. Verbs put handlers of their own in front; whoever started us with
    Ctrl-C switched off (a shell's background job) keeps it so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))


_quiet_interrupts()  # before anything is loaded: that is where the first tenth of a second goes
gc.set_threshold(YOUNG, *gc.get_threshold()[1:])


def run() -> None:
    """See ``moorage.main``."""
    from moorage.main import main

    try:
        main()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    except SystemExit as end:
        _quiet_interrupts()
        _leave(end.code)
        raise
    finally:
        _quiet_interrupts()


def _leave(code: object) -> None:
    """End at once where everything is written: taking hundreds of modules apart one by one would be a fifth
    of what a short command takes, and nothing of ours waits for that. Returns where Python's own end has
    something to say."""
    if not isinstance(code, int):
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (
        OSError,
        ValueError,
        AttributeError,
    ):  # a reader that has gone, or a stream that is closed or missing
        return
    os._exit(code)


if __name__ == "__main__":
    run()
