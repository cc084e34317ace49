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


# Folders that every machine has: what lies in them may well be meant.
COMMON = {"/", "/etc", "/home", "/mnt", "/opt", "/root", "/srv", "/tmp", "/usr", "/var"}


def check(files: Sequence[SourceFile], machine: Sequence[str] = ()) -> Iterator[Finding]:
    """``machine``: folders that exist on this machine only, as ``machine_folders`` finds them."""
    for file in files:
        for number, line in enumerate(file.lines(), 1):
            for why in faults(line, machine):
                yield Finding(file.path, number, why)


def faults(line: str, machine: Sequence[str] = ()) -> Iterator[str]:
    if found := NOTES.search(line):
        yield f"{found[0]} is a note to self; do it, or write an issue"
    if CONFLICT.search(line):
        yield "a conflict mark of git"
    if found := HOMES.search(line):
        yield f"{found[0]} exists on one machine only"
    for folder in machine:
        if within(line, folder):
            yield f"{folder} exists on one machine only"


def machine_folders(checkout: Path) -> list[str]:
    """Where this checkout lies and what lies beside it, unless the folder they share is a common one."""
    if str(checkout.parent) in COMMON:
        return [str(checkout)] if checkout.parent != checkout.parent.parent else []
    return sorted(str(neighbour) for neighbour in checkout.parent.iterdir() if neighbour.is_dir())


def within(line: str, folder: str) -> bool:
    return folder in line and re.search(re.escape(folder) + r"(?![\w-])", line) is not None
