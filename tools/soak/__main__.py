"""``./dev soak --minutes N``: sessions on a real node while its parts are killed and restarted.

It has a cluster of its own, in ``--dir``, and takes it down if it started it. Ends with 0 when nothing was
lost, left or stuck; with 1 and what was found otherwise. The seed it prints repeats scripts and disturbances.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import sys
import tempfile
from pathlib import Path

from tools.bench import machine
from tools.live_cluster import LiveCluster
from tools.soak.conductor import Conductor, Run
from tools.soak.report import report, table

ROOT = Path(__file__).resolve().parents[2]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long it goes on (default 60)")
    parser.add_argument("--seed", type=int, default=None, help="repeats a run (default: drawn, and printed)")
    parser.add_argument("--at-once", type=int, default=4, metavar="K", help="sessions at a time (default 4)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole report there")
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path(tempfile.gettempdir()) / f"moorage-soak-{os.geteuid()}",
        help="folder of its cluster (%(default)s)",
    )
    return parser.parse_args()


def main() -> int:
    asked = options()
    seed = secrets.randbelow(10**9) if asked.seed is None else asked.seed
    os.environ.pop("MOORAGE_TEST_KUBECONFIG", None)  # somebody else's servers are not ours to restart
    os.environ["MOORAGE_TEST_CLUSTER_DIR"] = str(asked.dir)
    print(f"soak: seed {seed}", file=sys.stderr, flush=True)
    with LiveCluster(ROOT, "soak") as live:
        about = machine.describe(ROOT, live)
        run = asyncio.run(_play(live, asked.minutes, seed, asked.at_once))
    said = report(run, about, asked.minutes)
    if asked.json:
        asked.json.write_text(json.dumps(said, indent=1) + "\n")
    print("\n".join(f"{key}: {value}" for key, value in about.items()))
    print(f"\n{table(said)}")
    for found in (*said["orphans"], *said["faults"]):
        print(f"soak: {found}", file=sys.stderr)
    return 0 if said["clean"] else 1


async def _play(live: LiveCluster, minutes: float, seed: int, at_once: int) -> Run:
    return await Conductor(live, minutes, seed, at_once).play()


if __name__ == "__main__":
    sys.exit(main())
