"""``./dev demo``: the main job, end to end. Every step is a command a person could type.

It runs on the embedded cluster, or with ``--cluster`` on the real test cluster. Prints what it does and what
it saw; with ``--json`` the last line of stdout is one object. Exits 1 when any expectation does not hold.
Leaves nothing, unless a person at a terminal wants the embedded cluster to stay up.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tools.demo.places import Embedded, Real
from tools.demo.story import Story, Unexpected

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--cluster", action="store_true", help="use the real test cluster, which needs root")
    parser.add_argument("--json", action="store_true", help="end with one JSON object on stdout")
    parser.add_argument("--source", default=str(ROOT), help="repository to work on (default: this checkout)")
    options = parser.parse_args()
    begun = time.monotonic()
    with Real(ROOT) if options.cluster else Embedded() as place:
        story = Story(place, options.source, quiet=options.json)
        try:
            story.tell()
        except Unexpected as error:
            print(f"demo: {error}", file=sys.stderr)
            story.failed = str(error)
        finally:
            story.tidy()
        if not story.failed:
            story.say(f"done: all of it held, in {time.monotonic() - begun:.0f} s")
        if isinstance(place, Embedded) and not story.failed and not options.json:
            offer_to_stay(place)
    if options.json:
        print(json.dumps(story.summary() | {"cluster": "real" if options.cluster else "embedded"}))
    return 1 if story.failed else 0


def offer_to_stay(place: Embedded) -> None:
    """Asked of a person at a terminal only; anything but yes is no."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    try:
        answer = input("Keep this cluster, to try it yourself? [y/N] ")
    except EOFError:
        return
    if answer.strip().lower() in ("y", "yes"):
        place.keep = True
        print(f"  export MOORAGE_DATA_DIR={place.data}")
        print("  ./dev moorage run --source . -- sh -c 'ls; echo done'")
        print("  ./dev moorage down; rm -r $MOORAGE_DATA_DIR")
        print("It also ends by itself, 10 minutes after its last Pod.")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
