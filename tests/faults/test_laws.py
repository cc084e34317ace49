"""The laws of a session under every fault: a steered state machine over all verbs, and which faults it met.

A few runs in a light test run, 1,000 with ``CI=true``, N with ``./dev test --faults N``. With 1,000 and
more, every triple (verb, API call, knob) must have fired that the table allows for a call which the
undisturbed verb makes.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.knob import Triple
from tests.faults.machine.run import fired_of

ROOT = Path(__file__).resolve().parents[2]
LIGHT, FULL = 6, 1000
PROCESSES = 2
QUICK = ("--states", "")
"""A light run learns of no state what a verb calls there: its faults wait for any call at all."""


def _asked() -> int:
    in_ci = os.environ.get("CI", "").lower() == "true"
    return int(os.environ.get("MOORAGE_FAULT_RUNS") or (FULL if in_ci else LIGHT))


async def _played(runs: int, folder: Path) -> list[dict[str, Any]]:
    """The results of all processes. Each has its own share of the triples, and chance of its own."""
    processes = 1 if runs < FULL else PROCESSES
    words = [sys.executable, "-m", "tests.faults.machine.run", "--runs", str(-(-runs // processes))]
    words += QUICK if runs < FULL else ()
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests/cluster")))
    environment = {**os.environ, "PYTHONPATH": path}
    started = []
    for number in range(processes):
        out = str(folder / f"{number}.json")
        more = ("--share", f"{number}/{processes}", "--seed", str(number + 1), "--out", out)
        started.append(
            await asyncio.create_subprocess_exec(
                *words, *more, cwd=ROOT, env=environment, stderr=asyncio.subprocess.PIPE
            )
        )
    said = await asyncio.gather(*(process.communicate() for process in started))
    results = []
    for number, (_, errors) in enumerate(said):
        file = folder / f"{number}.json"
        assert file.exists(), errors.decode(errors="replace")[-5000:]
        results.append(json.loads(file.read_text()))
    return results


def _table(wanted: set[Triple], fired: Counter[Triple]) -> str:
    """Every triple with its count, a line for each verb and call."""
    lines: dict[tuple[str, str], list[str]] = {}
    for triple in sorted(wanted | set(fired)):
        lines.setdefault((triple.verb, triple.call), []).append(f"{triple.knob} {fired[triple]}")
    return "\n".join(f"{verb} · {call}: {', '.join(counts)}" for (verb, call), counts in lines.items())


@pytest.mark.timeout(3600)  # six minutes of two CPUs, if nobody else wants them
async def test_the_laws_hold_under_every_fault(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    runs = _asked()
    results = await _played(runs, tmp_path)
    fired: Counter[Triple] = sum((fired_of(result) for result in results), Counter())
    wanted = {Triple(*triple) for result in results for triple in result["wanted"]}
    heading = (
        f"{sum(r['runs'] for r in results)} runs, {fired.total()} faults fired; "
        f"{len(wanted & set(fired))} of {len(wanted)} triples (verb, API call, knob)"
    )
    record_property("table", f"{heading}\n{_table(wanted, fired)}" if runs >= FULL else heading)
    broken = [failure for result in results for failure in result["failures"]]
    assert not broken, "\n\n".join(_told(failure) for failure in broken)
    missing = sorted(wanted - set(fired)) if runs >= FULL else []
    assert not missing, f"{len(missing)} triples never fired: " + "; ".join(map(str, missing))


def _told(failure: dict[str, Any]) -> str:
    laws = "\n".join(failure["broken"])
    again = f"python -m tests.faults.machine.run --only '{json.dumps(failure['run'])}'"
    return f"{laws}\nagain, with PYTHONPATH=.:tests/cluster: {again}"
