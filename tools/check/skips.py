"""The committed table of skipped tests, ``tests/skips.txt``: every line names a test that exists, and why.

A line is ``test | tier | reason``, with the test as pytest names it, without parameters. While tests run,
``tools/test/skip_table.py`` holds them to the table; this rule keeps the table itself true.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.check.source import Finding, SourceFile

TABLE = "tests/skips.txt"
TIERS = {"1", "2", "2-plain", "3", "4", "5"}
NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Skip:
    """One line of the table."""

    line: int
    test: str
    tier: str
    reason: str


def parse(text: str) -> list[Skip]:
    """The entries of a table; a line without its three parts has empty ones, for ``check`` to report."""
    skips = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            test, tier, reason, *_ = [part.strip() for part in line.split("|", 2)] + ["", ""]
            skips.append(Skip(number, test, tier, reason))
    return skips


def check(files: Sequence[SourceFile]) -> Iterator[Finding]:
    by_path = {file.path: file for file in files}
    if TABLE not in by_path:
        yield Finding(TABLE, 1, "is missing; without it every skip fails")
        return
    seen: set[tuple[str, str]] = set()
    for skip in parse(by_path[TABLE].text):
        if why := fault(skip, by_path):
            yield Finding(TABLE, skip.line, why)
        if (skip.test, skip.tier) in seen:
            yield Finding(TABLE, skip.line, f"{skip.test} stands here twice for tier {skip.tier}")
        seen.add((skip.test, skip.tier))


def fault(skip: Skip, files: dict[str, SourceFile]) -> str:
    if skip.tier not in TIERS or not skip.reason:
        return "must read: test | tier (1 to 5, 2-plain) | reason"
    path, _, name = skip.test.partition("::")
    if path not in files:
        return f"{path} does not exist; remove the entry"
    defined = {node.name for node in ast.walk(files[path].tree()) if isinstance(node, NAMED)}
    missing = [part for part in name.split("::") if part and part not in defined]
    return f"{path} has no {'::'.join(missing)}; remove the entry" if missing else ""
