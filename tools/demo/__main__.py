"""``./dev demo``: the main job, end to end, on the real node. Every step is a command a person could type.

Prints what it does and what it saw; with ``--json`` the last line of stdout is one object. Exits 1 when any
expectation does not hold. Leaves nothing: not in the cluster, and no cluster that it had to start itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tools.demo.story import Story, Unexpected
from tools.live_cluster import LiveCluster

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--cluster", action="store_true", help="use the real test cluster")
    parser.add_argument("--json", action="store_true", help="end with one JSON object on stdout")
    parser.add_argument("--source", default=str(ROOT), help="repository to work on (default: this checkout)")
    options = parser.parse_args()
    if not options.cluster:
        print(
            "demo: the built-in cluster comes with the next version; this does the same with --cluster",
            file=sys.stderr,
        )
    with LiveCluster(ROOT, "demo") as cluster:
        story = Story(cluster, options.source, quiet=options.json)
        try:
            story.tell()
        except Unexpected as error:
            print(f"demo: {error}", file=sys.stderr)
            story.failed = str(error)
        finally:
            story.tidy()
    if options.json:
        print(json.dumps(story.summary()))
    return 1 if story.failed else 0


if __name__ == "__main__":
    sys.exit(main())
