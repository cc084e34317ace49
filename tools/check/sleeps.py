"""A test waits for an event, never for time to pass. Allowed with a reason: ``# sleep: why`` on the line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tools.check.source import Finding, SourceFile, called, imported_names

SLEEPS = {"time.sleep", "asyncio.sleep", "anyio.sleep", "trio.sleep"}
REASON = re.compile(r"(#|//) sleep: \S+")
GO_SLEEP = re.compile(r"\btime\.Sleep\(")
MESSAGE = "sleeps in a test; wait for an event, or give the reason on the line: sleep: …"


def check(files: Sequence[SourceFile]) -> Iterator[Finding]:
    for file in files:
        if file.is_python and file.path.startswith("tests/"):
            yield from excused(file, python_sleeps(file))
        elif file.is_go and file.is_test:
            yield from excused(file, go_sleeps(file))


def excused(file: SourceFile, lines: Iterator[int]) -> Iterator[Finding]:
    text = file.lines()
    return (Finding(file.path, line, MESSAGE) for line in lines if not REASON.search(text[line - 1]))


def python_sleeps(file: SourceFile) -> Iterator[int]:
    """Lines that sleep for longer than nothing; ``sleep(0)`` only lets others run."""
    names = imported_names(file.tree())
    for node in ast.walk(file.tree()):
        if isinstance(node, ast.Call) and called(node, names) in SLEEPS and not is_zero(node):
            yield node.lineno


def is_zero(node: ast.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0


def go_sleeps(file: SourceFile) -> Iterator[int]:
    return (number for number, line in enumerate(file.lines(), 1) if GO_SLEEP.search(line))
