"""The benchmarks of sessions, in the order in which they run. Called by ``tools.bench``."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from tools.bench import counts, processes, starts, throughput
from tools.bench.figures import Table
from tools.bench.place import Place
from tools.live_cluster import LiveCluster

ROOT = Path(__file__).resolve().parents[2]
Measure = Callable[[Place, argparse.Namespace], Awaitable[Table]]


async def _starts(place: Place, options: argparse.Namespace) -> Table:
    return await starts.measure(place, options.rounds)


async def _calls(place: Place, options: argparse.Namespace) -> Table:
    return await counts.measure(place, ROOT, min(options.rounds, 5))


async def _process(place: Place, options: argparse.Namespace) -> Table:
    return await asyncio.to_thread(processes.measure_run, place, options.rounds)


async def _throughput(place: Place, options: argparse.Namespace) -> Table:
    return await throughput.measure(place, min(options.rounds, 10))


async def _help(place: Place, options: argparse.Namespace) -> Table:
    return await asyncio.to_thread(processes.measure_help, place, options.rounds)


async def _size(place: Place, options: argparse.Namespace) -> Table:
    return processes.measure_sizes(ROOT)


PARTS: dict[str, Measure] = {
    "start": _starts,
    "calls": _calls,
    "process": _process,
    "throughput": _throughput,
    "help": _help,
    "size": _size,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each measurement (default 15)")
    parser.add_argument("--only", choices=sorted(PARTS), action="append", help="only this part; repeatable")
    parser.add_argument("--image", default="localhost/busybox:test", help="image of all Pods")
    parser.add_argument("--helper-image", default="", help="image with /agentctl, where the node is not ours")


def measure(live: LiveCluster, root: Path, options: argparse.Namespace) -> list[Table]:
    """All parts, or those of ``--only``."""
    return asyncio.run(_measure(live, root, options))


async def _measure(live: LiveCluster, root: Path, options: argparse.Namespace) -> list[Table]:
    place = Place(live, root, options.image, options.helper_image)
    tables = []
    try:
        await place.make_claim()
        for name in options.only or PARTS:
            print(f"bench: {name} …", file=sys.stderr)
            tables.append(await PARTS[name](place, options))
    finally:
        await place.cluster.close()
    return tables
