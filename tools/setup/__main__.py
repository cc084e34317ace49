"""Make what ``./dev`` needs, once: Go, uv, the environment ``.venv``; with the word ``helper``, agentctl too.

Run by ``dev`` before a command. Prints shell assignments on stdout and nothing else; speaks on stderr only
while it gets something.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

INTERRUPTED = 130
takes_interrupts = __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler
if takes_interrupts:  # without a word while it loads, too
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))

from tools.setup import helper, sync  # noqa: E402
from tools.setup.fetch import Places, SetupFailed, cache_directory, locked, say  # noqa: E402
from tools.setup.go import fetched_go, go_on_this_machine  # noqa: E402


def main(words: Sequence[str]) -> int:
    """Print the assignments; 2 when something is missing, with what and what to do on stderr."""
    places = Places(Path(__file__).resolve().parents[2], cache_directory(os.environ))
    try:
        assignments = prepared(places, with_helper="helper" in words)
    except SetupFailed as failure:
        say(str(failure))
        say(failure.hint)
        return 2
    for name, value in assignments.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def prepared(places: Places, *, with_helper: bool) -> dict[str, str]:
    go = go_on_this_machine()
    if go is None:
        with locked(places):
            go = fetched_go(places)
    path = os.pathsep.join([str(go.parent), os.environ.get("PATH", os.defpath)])
    found = {"MOORAGE_GO": str(go), "PATH": path}
    environment = {**os.environ, **found}
    once(places, lambda: sync.is_current(places), lambda: sync.synchronise(places, environment))
    if with_helper:
        once(places, lambda: helper.is_current(places, str(go)), lambda: helper.build(places, environment))
    return {**found, "MOORAGE_PYTHON": str(places.python)}


def once(places: Places, is_current: Callable[[], bool], make: Callable[[], None]) -> None:
    """Make what is not current, under the lock; another ``./dev`` may have made it while this one waited."""
    if not is_current():
        with locked(places):
            if not is_current():
                make()


if __name__ == "__main__":
    if takes_interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:  # whoever pressed it knows; all that is begun is made anew next time
        sys.exit(INTERRUPTED)
