"""What a soak says at its end: an object for programs, a table for people and documents. Judges nothing."""

from __future__ import annotations

from typing import Any

from tools.soak.conductor import Run
from tools.soak.memory import CONFIDENCE, by_minute, slope

WARM_UP = 600.0
"""Seconds of a run that do not count for its memory; of a short one, a sixth."""


def report(run: Run, about: dict[str, str], wanted_minutes: float) -> dict[str, Any]:
    """All there is to know of it."""
    after = min(WARM_UP, wanted_minutes * 10)
    points = by_minute(run.memory, after)
    line = slope(points)
    return {
        "machine": about,
        "seed": run.seed,
        "minutes": run.minutes,
        "at_once": run.at_once,
        **run.tally.plain(),
        "open_files": run.open_files,
        "memory": {
            "counted_after_seconds": after,
            "per_minute": [[at, value] for at, value in points],
            "peak": max((value for _, value in run.memory), default=0.0),
            "slope": line.plain() if line else None,
        },
    }


def table(said: dict[str, Any]) -> str:
    """The figures, as a table for a page."""
    disturbed, memory = said["disturbed"], said["memory"]
    rows = [
        ("seed", str(said["seed"])),
        ("minutes", f"{said['minutes']:g}"),
        ("sessions", f"{said['sessions']:,}, {said['live_least']} to {said['live_most']} at a time"),
        ("containers killed", f"{said['kills']:,}"),
        ("API server restarts", str(disturbed.get("apiserver", 0))),
        ("containerd restarts", str(disturbed.get("containerd", 0))),
        ("etcd compactions", str(disturbed.get("compact", 0))),
        ("verbs", f"{sum(said['steps'].values()):,}, {sum(said['retried'].values()):,} times tried again"),
        ("files written and compared", f"{said['files']:,} ({said['bytes_moved'] / 2**20:,.0f} MiB moved)"),
        ("output read and compared", f"{said['output_bytes'] / 2**20:,.1f} MiB"),
        ("orphans, losses, stuck", f"{len(said['orphans'])}, {said['lost']}, {said['stuck']}"),
        ("other faults", str(len(said["faults"]))),
        ("open files before, after", "{}, {}".format(*said["open_files"])),
        ("memory", _memory(memory)),
    ]
    return "\n".join(["| what | figure |", "|---|---|", *(f"| {what} | {figure} |" for what, figure in rows)])


def _memory(memory: dict[str, Any]) -> str:
    line, peak = memory["slope"], memory["peak"]
    if line is None:
        return f"at most {peak:.0f} MiB; too short a run for a slope"
    interval = f"{CONFIDENCE:.0%}: {line['low']:+.1f} to {line['high']:+.1f}"
    minutes = f"{line['values']} minutes after the first {memory['counted_after_seconds'] / 60:g}"
    return (
        f"{line['per_hour']:+.1f} MiB an hour ({interval}; least squares through {minutes}), "
        f"from {line['at_start']:.0f} MiB, at most {peak:.0f} MiB"
    )
