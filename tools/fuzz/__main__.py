"""``./dev fuzz --minutes N``: every target for its share of the time, and how many inputs each was given.

The Python targets (tests/fuzz) are searched by coverage with atheris, which this gets into ``.venv``; where
there is none for this machine, by mutation alone. agentctl's are searched by ``go test -fuzz``. An input that
breaks a promise is added to the corpus, where the tests replay it. Ends with 1 when there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from tests.fuzz.targets import TARGETS
from tools.fuzz import golang, python
from tools.fuzz.found import Found, table

ROOT = Path(__file__).resolve().parents[2]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0, help="for all targets together (default 15)")
    parser.add_argument("--target", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    return parser.parse_args()


def main() -> int:
    asked = options()
    ours, theirs = list(TARGETS), golang.targets(ROOT)
    names = [*ours, *theirs]
    if unknown := [name for name in asked.target or () if name not in names]:
        print(f"dev: no fuzz target {unknown[0]}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    chosen = [name for name in names if not asked.target or name in asked.target]
    seconds = max(1, round(asked.minutes * 60 / len(chosen)))
    by_coverage = python.get_atheris(ROOT, os.environ)
    results: list[Found] = []
    for name in chosen:
        print(f"== {name}, {seconds} s", flush=True)
        if name in TARGETS:
            results.append(python.search(ROOT, TARGETS[name], seconds, by_coverage=by_coverage))
        else:
            results.append(golang.search(ROOT, name, theirs[name], seconds))
        for path in results[-1].crashers:
            print(f"dev: {name}: broken by {path}", file=sys.stderr)
    print(table(results))
    if asked.json:
        asked.json.write_text(json.dumps([result.figures() for result in results], indent=1) + "\n")
    return 1 if any(result.crashers or result.failed for result in results) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
