"""A mutant: one promise of the code, broken on purpose, and the tests that must notice.

Written as ``tests/mutants/NAME.toml``; read here, changed into source text here, run elsewhere.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = "tests/mutants"
REQUIRED = ("promise", "file", "old", "new", "tests")
TIERS = (1, 2, 3, 4)


class Unusable(Exception):
    """A mutant that cannot be run as it is written; the message names the file and says why."""


@dataclass(frozen=True)
class Mutant:
    """``old`` stands exactly once in ``file``; ``new`` takes its place; each of ``tests`` must then fail.

    A test is named as pytest does (``tests/core/test_x.py::test_y``), or, in Go, by its package's folder
    (``agentctl/internal/link::TestY``). ``tier`` is the highest that its tests need: 1 to 4.
    """

    name: str
    promise: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    tier: int = 1

    def applied_to(self, text: str) -> str:
        """The broken source. Raises ``Unusable`` unless ``old`` is there once and the result is Python."""
        count = text.count(self.old)
        if count != 1:
            raise Unusable(f"{self.name}: old stands {count} times in {self.file}; it must stand there once")
        broken = text.replace(self.old, self.new)
        if self.file.endswith(".py"):
            try:
                ast.parse(broken)
            except SyntaxError as cause:
                raise Unusable(f"{self.name}: the broken {self.file} is not Python ({cause})") from cause
        return broken


def read(path: Path) -> Mutant:
    """One file. Raises ``Unusable`` with what is wrong in it."""
    try:
        fields = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as cause:
        raise Unusable(f"{path.name}: {cause}") from cause
    if missing := [name for name in REQUIRED if not fields.get(name) and name != "new"]:
        raise Unusable(f"{path.name}: has no {', '.join(missing)}")
    if unknown := sorted(set(fields) - {*REQUIRED, "tier"}):
        raise Unusable(f"{path.name}: {', '.join(unknown)} means nothing here")
    tier = fields.get("tier", 1)
    if tier not in TIERS:
        raise Unusable(f"{path.name}: tier must be one of {TIERS}")
    return Mutant(
        name=path.stem,
        promise=fields["promise"],
        file=fields["file"],
        old=fields["old"],
        new=fields.get("new", ""),
        tests=tuple(fields["tests"]),
        tier=tier,
    )


def read_all(root: Path) -> list[Mutant]:
    return [read(path) for path in sorted((root / FOLDER).glob("*.toml"))]
