"""``./dev test --mutants [NAME]``: break one promise at a time; each must make its named tests fail.

Ends with 0 when no mutant survives, 1 when one does, 2 when one cannot be run as written. The named tests are
first shown to pass without a mutant, else their failing would mean nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.mutants.copy import broken, copy_checkout
from tools.mutants.mutant import FOLDER, Mutant, Unusable, read_all
from tools.mutants.tests import Verdict, run

ROOT = Path(__file__).resolve().parents[2]
NEEDS_CLUSTER = 3


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev test --mutants", description=__doc__)
    parser.add_argument("--cluster", action="store_true", help="also those whose tests need the real cluster")
    parser.add_argument("name", nargs="?", help=f"one file of {FOLDER}, without .toml")
    options = parser.parse_args(words)
    try:
        mutants = chosen(read_all(ROOT), options.name, options.cluster)
        with tempfile.TemporaryDirectory(prefix="moorage-mutants-") as folder:
            copy = Path(folder) / "checkout"
            copy_checkout(ROOT, copy)
            prove_healthy(copy, mutants)
            survivors = [mutant for mutant in mutants if not is_caught(copy, mutant)]
    except Unusable as fault:
        print(f"dev: {fault}", file=sys.stderr)
        return 2
    print(f"{len(mutants)} mutants, {len(survivors)} survived")
    return 1 if survivors else 0


def chosen(mutants: Sequence[Mutant], name: str | None, cluster: bool) -> list[Mutant]:
    if name:
        named = [mutant for mutant in mutants if mutant.name == name]
        if not named:
            raise Unusable(f"no mutant {name}; there are: {', '.join(mutant.name for mutant in mutants)}")
        return named
    return [mutant for mutant in mutants if cluster or mutant.tier < NEEDS_CLUSTER]


def prove_healthy(copy: Path, mutants: Sequence[Mutant]) -> None:
    """Every named test passes as the code is. Raises ``Unusable`` for the first that does not."""
    for test in sorted({test for mutant in mutants for test in mutant.tests}):
        verdict, output = run(test, copy)
        if verdict is not Verdict.PASSED:
            print(output)
            raise Unusable(f"{test} {verdict.value} without any mutant; mend that first")


def is_caught(copy: Path, mutant: Mutant) -> bool:
    """True when each named test fails; prints the mutant's rows of the table."""
    caught = True
    with broken(copy, mutant):
        for test in mutant.tests:
            verdict, output = run(test, copy)
            word = "caught" if verdict is Verdict.FAILED else f"SURVIVED ({verdict.value})"
            print(f"{word:<20} {mutant.name:<32} {mutant.promise}\n{'':<20} by {test}", flush=True)
            if verdict is not Verdict.FAILED:
                caught = False
                print(output if verdict is Verdict.BROKEN else "", end="")
    return caught


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
