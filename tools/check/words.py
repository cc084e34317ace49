"""Words that must not be committed: notes to self, conflict marks, paths of one machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.check.source import Finding, SourceFile

# Written in pieces, so that this file does not contain them.
NOTES = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK"]) + r")\b")
CONFLICT = re.compile(r"^(<{7} |>{7} |={7}$)")
HOMES = re.compile(r"(?<![\w./-])/(home|Users)/(?!agent\b|user\b|\$|<|\{)[a-z][\w.-]*/")


def check(files: Sequence[SourceFile], checkout: Path | None = None) -> Iterator[Finding]:
    """``checkout`` is where this one lies: its own path, and its neighbours, belong to one machine."""
    for file in files:
        for number, line in enumerate(file.lines(), 1):
            for why in faults(line, checkout):
                yield Finding(file.path, number, why)


def faults(line: str, checkout: Path | None) -> Iterator[str]:
    if found := NOTES.search(line):
        yield f"{found[0]} is a note to self; do it, or write an issue"
    if CONFLICT.search(line):
        yield "a conflict mark of git"
    if found := HOMES.search(line):
        yield f"{found[0]} exists on one machine only"
    if checkout and any(within(line, folder) for folder in machine_folders(checkout)):
        yield "names where this checkout lies; it exists on one machine only"


def machine_folders(checkout: Path) -> list[str]:
    """The checkout, and the folder it shares with others unless that is as common as / or /tmp."""
    folders = [str(checkout)]
    if len(checkout.parts) > 2:
        folders += [f"{checkout.parent}/{neighbour.name}" for neighbour in checkout.parent.iterdir()]
    # A one-word path such as /app is an ordinary word in any Dockerfile.
    return [folder for folder in folders if folder.count("/") > 1 and not folder.startswith("/tmp/")]


def within(line: str, folder: str) -> bool:
    return re.search(re.escape(folder) + r"(?![\w-])", line) is not None
