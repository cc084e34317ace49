"""``./dev bench [session]``: measures and prints tables; ``--json``: one object; ``--write``: renews a page.

Never passes or fails by time. Ends with 0 when everything could be measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tools.bench import document, machine, session
from tools.live_cluster import LiveCluster

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = {"session": session.measure}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("name", nargs="?", default="session", choices=sorted(BENCHMARKS))
    session.add_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="renew the tables of this document")
    options = parser.parse_args()
    with LiveCluster(ROOT, "bench") as live:
        about = machine.describe(ROOT, live)
        tables = BENCHMARKS[options.name](live, ROOT, options)
    if options.write:
        document.renew(options.write, options.name, about, tables)
    if options.json:
        print(json.dumps({"machine": about, "tables": [table.plain() for table in tables]}))
    else:
        print("\n".join(f"{key}: {value}" for key, value in about.items()))
        print("\n\n".join(["", *(table.text() for table in tables)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
