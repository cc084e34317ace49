"""Make what ``./dev`` needs, once: Go, uv, the environment ``.venv``. Run by ``dev`` before a command.

Prints shell assignments on stdout and nothing else; speaks on stderr only while it gets something.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from tools.setup.fetch import Places, SetupFailed, cache_directory, locked, say
from tools.setup.go import fetched_go, go_on_this_machine
from tools.setup.sync import is_current, synchronise


def main() -> int:
    """Print the assignments; 2 when something is missing, with what and what to do on stderr."""
    places = Places(Path(__file__).resolve().parents[2], cache_directory(os.environ))
    try:
        assignments = prepared(places)
    except SetupFailed as failure:
        say(str(failure))
        say(failure.hint)
        return 2
    for name, value in assignments.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def prepared(places: Places) -> dict[str, str]:
    go = go_on_this_machine()
    if go is None:
        with locked(places):
            go = fetched_go(places)
    path = os.pathsep.join([str(go.parent), os.environ.get("PATH", os.defpath)])
    found = {"MOORAGE_GO": str(go), "PATH": path}
    if not is_current(places):
        with locked(places):
            # Another ./dev may have made it while this one waited.
            if not is_current(places):
                synchronise(places, {**os.environ, **found})
    return {**found, "MOORAGE_PYTHON": str(places.python)}


if __name__ == "__main__":
    sys.exit(main())
