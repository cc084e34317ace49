"""``./dev test --mutants [NAME]``: break one promise at a time; each must make its named tests fail.

Ends with 0 when no mutant survives, 1 when one does, 2 when one cannot be run as written. The named tests are
first shown to pass without a mutant, else their failing would mean nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Queue

from tools.mutants.copy import broken, copy_checkout
from tools.mutants.mutant import FOLDER, Mutant, Unusable, read_all
from tools.mutants.tests import Runner, Verdict

ROOT = Path(__file__).resolve().parents[2]
NEEDS_CLUSTER = 3
MOST_COPIES = 4


@dataclass(frozen=True)
class Place:
    """A copy of the checkout, and who runs tests in it."""

    copy: Path
    runner: Runner


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev test --mutants", description=__doc__)
    parser.add_argument("--cluster", action="store_true", help="also those whose tests need the real cluster")
    parser.add_argument("name", nargs="?", help=f"one file of {FOLDER}, without .toml")
    options = parser.parse_args(words)
    try:
        mutants = chosen(read_all(ROOT), options.name, options.cluster)
        results = hunt(mutants, alone=any(mutant.tier >= NEEDS_CLUSTER for mutant in mutants))
    except Unusable as fault:
        print(f"dev: {fault}", file=sys.stderr)
        return 2
    survivors = results.count(False)
    print(f"{len(mutants)} mutants, {survivors} survived")
    return 1 if survivors else 0


def hunt(mutants: Sequence[Mutant], *, alone: bool) -> list[bool]:
    """Whether each was caught. ``alone``: one after the other, since they share a cluster."""
    places: Queue[Place] = Queue()
    workers = 1 if alone else min(os.cpu_count() or 1, MOST_COPIES)
    with tempfile.TemporaryDirectory(prefix="moorage-mutants-") as folder, ExitStack() as stack:
        for number in range(workers):
            copied = Path(folder) / f"checkout-{number}"
            copy_checkout(ROOT, copied)
            places.put(Place(copied, stack.enter_context(closing(Runner(copied)))))
        with ThreadPoolExecutor(max_workers=workers) as pool:
            list(pool.map(partial(prove_healthy, places), shares(mutants, workers)))
            seen = pool.map(partial(try_out, places), mutants)
            return [is_caught(*one) for one in zip(mutants, seen, strict=True)]


def chosen(mutants: Sequence[Mutant], name: str | None, cluster: bool) -> list[Mutant]:
    if name:
        named = [mutant for mutant in mutants if mutant.name == name]
        if not named:
            raise Unusable(f"no mutant {name}; there are: {', '.join(mutant.name for mutant in mutants)}")
        return named
    return [mutant for mutant in mutants if cluster or mutant.tier < NEEDS_CLUSTER]


def shares(mutants: Sequence[Mutant], workers: int) -> list[list[str]]:
    """All named tests: those of Python in as many runs as can go on at once, each of Go by itself."""
    named = sorted({test for mutant in mutants for test in mutant.tests})
    python = [test for test in named if ".py::" in test]
    parts = [python[start::workers] for start in range(workers)]
    return [part for part in parts if part] + [[test] for test in named if ".py::" not in test]


def prove_healthy(places: Queue[Place], tests: Sequence[str]) -> None:
    """Every test passes as the code is. Raises ``Unusable`` when one does not."""
    with taken(places) as place:
        verdict, output = place.runner.run(tests)
    if verdict is not Verdict.PASSED:
        print(output)
        raise Unusable(f"{', '.join(tests)}: {verdict.value} without any mutant; mend that first")


def try_out(places: Queue[Place], mutant: Mutant) -> list[tuple[str, Verdict, str]]:
    """Each named test of ``mutant``, its verdict, and what was printed."""
    with taken(places) as place, broken(place.copy, mutant):
        return [(test, *place.runner.run([test])) for test in mutant.tests]


@contextmanager
def taken(places: Queue[Place]) -> Iterator[Place]:
    """A copy that nobody else uses meanwhile."""
    place = places.get()
    try:
        yield place
    finally:
        places.put(place)


def is_caught(mutant: Mutant, seen: Sequence[tuple[str, Verdict, str]]) -> bool:
    """True when each named test failed; prints the mutant's rows of the table."""
    for test, verdict, output in seen:
        word = "caught" if verdict is Verdict.FAILED else f"SURVIVED ({verdict.value})"
        print(f"{word:<20} {mutant.name:<32} {mutant.promise}\n{'':<20} by {test}", flush=True)
        if verdict is Verdict.BROKEN:
            print(output)
    return all(verdict is Verdict.FAILED for _, verdict, _ in seen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
