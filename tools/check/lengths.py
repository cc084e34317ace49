"""No file over 400 lines unless ``long_files.txt`` lists it with a reason; and the median, for the report."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tools.check.source import Finding, SourceFile

LIMIT = 400
LISTED = "tools/check/long_files.txt"
CODE = (".py", ".go", ".ts", ".tsx", ".sh")


def check(files: Sequence[SourceFile]) -> Iterator[Finding]:
    reasons = dict(listed(files))
    for file in code(files):
        count = length(file)
        if count > LIMIT and file.path not in reasons:
            yield Finding(file.path, count, f"{count} lines, the limit is {LIMIT}; split it by what it does")
    yield from stale(files, reasons)


def stale(files: Sequence[SourceFile], reasons: dict[str, int]) -> Iterator[Finding]:
    """The list only shrinks by itself: an entry that is not needed, or has no reason, is a fault."""
    lengths = {file.path: length(file) for file in code(files)}
    for path, line in reasons.items():
        if lengths.get(path, 0) <= LIMIT:
            yield Finding(LISTED, line, f"{path} is not over {LIMIT} lines; remove the entry")
    for file in files:
        if file.path == LISTED:
            for number, text in enumerate(file.lines(), 1):
                if is_entry(text) and len(text.split(None, 1)) < 2:
                    yield Finding(LISTED, number, "no reason given after the path")


def listed(files: Sequence[SourceFile]) -> Iterator[tuple[str, int]]:
    for file in files:
        if file.path == LISTED:
            for number, text in enumerate(file.lines(), 1):
                if is_entry(text):
                    yield text.split()[0], number


def is_entry(text: str) -> bool:
    return bool(text.strip()) and not text.startswith("#")


def code(files: Sequence[SourceFile]) -> list[SourceFile]:
    return [file for file in files if file.path == "dev" or file.path.endswith(CODE)]


def length(file: SourceFile) -> int:
    return file.text.count("\n")


def summary(files: Sequence[SourceFile]) -> str:
    """One line for the report. Empty files (``__init__``) say nothing and do not count."""
    counts = [length(file) for file in code(files) if length(file) > 1]
    if not counts:
        return "no code"
    return f"{len(counts)} files of code, median {statistics.median(counts):.0f} lines, longest {max(counts)}"
