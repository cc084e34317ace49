"""``./dev check``: everything about the source that a program can judge. Ends with 1 if anything is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.check import lengths, links, programs, purity, resource_version, skips, sleeps, tests_assert, words
from tools.check.source import Finding, SourceFile, read_checkout

ROOT = Path(__file__).resolve().parents[2]
Rule = Callable[[Sequence[SourceFile]], Iterator[Finding]]

RULES: dict[str, Rule] = {
    "tests that assert nothing": tests_assert.check,
    "sleeps in tests": sleeps.check,
    "table of skips": skips.check,
    "purity of core": purity.check,
    "resourceVersion 0": resource_version.check,
    "long files": lengths.check,
    "links": links.check,
    "words": lambda files: words.check(files, words.machine_folders(ROOT)),
}


def main() -> int:
    files = read_checkout(ROOT)
    broken = [file for file in files if file.is_python and not parses(file)]
    outcomes = [own(title, rule, files) for title, rule in RULES.items()] if not broken else [syntax(broken)]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        outcomes += pool.map(lambda program: programs.run(program, ROOT, os.environ), programs.programs(ROOT))
    for outcome in outcomes:
        print(f"{'ok    ' if outcome.passed else 'FAILED'}  {outcome.title}")
        if not outcome.passed:
            print(indented(outcome.output))
    print(lengths.summary(files))
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def parses(file: SourceFile) -> bool:
    try:
        file.tree()
    except SyntaxError:
        return False
    return True


def syntax(broken: Sequence[SourceFile]) -> programs.Outcome:
    return programs.Outcome("syntax", False, "".join(f"{file.path} is not Python 3.11\n" for file in broken))


def own(title: str, rule: Rule, files: Sequence[SourceFile]) -> programs.Outcome:
    findings = sorted(rule(files))
    return programs.Outcome(title, not findings, "".join(f"{finding}\n" for finding in findings))


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.rstrip().split("\n")).rstrip("\n")


if __name__ == "__main__":
    sys.exit(main())
