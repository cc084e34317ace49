"""The files that rules look at, and what they say of them. Reads the checkout, writes nothing."""

from __future__ import annotations

import ast
import functools
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Made by a program from elsewhere, so nobody reads or edits them by hand.
GENERATED = ("uv.lock", "src/moorage/core/template/schema_table.py")


@dataclass(frozen=True)
class SourceFile:
    """One text file: its path from the root of the checkout, with slashes, and its content."""

    path: str
    text: str

    @property
    def is_python(self) -> bool:
        return self.path.endswith(".py")

    @property
    def is_go(self) -> bool:
        return self.path.endswith(".go")

    @property
    def is_test(self) -> bool:
        """A file pytest or ``go test`` collects tests from."""
        name = self.path.rsplit("/", 1)[-1]
        return (self.path.startswith("tests/") and name.startswith("test_") and self.is_python) or (
            name.endswith("_test.go")
        )

    def lines(self) -> list[str]:
        return self.text.split("\n")

    def tree(self) -> ast.Module:
        return parse(self)


@dataclass(frozen=True, order=True)
class Finding:
    """One place that breaks a rule. ``line`` counts from 1; the message says why and what to do."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@functools.cache
def parse(file: SourceFile) -> ast.Module:
    return ast.parse(file.text, file.path)


def read_checkout(root: Path) -> list[SourceFile]:
    """Every text file git knows or would add, without the generated ones."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    names = sorted(set(listed.stdout.split("\0")) - {"", *GENERATED})
    return [file for name in names if (file := read_text(root, name))]


def read_text(root: Path, name: str) -> SourceFile | None:
    """The file, or nothing for what was deleted and not yet committed, links, and binary content."""
    path = root / name
    if path.is_symlink() or not path.is_file():
        return None
    content = path.read_bytes()
    return None if b"\0" in content else SourceFile(name, content.decode("utf-8", errors="replace"))


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of a name or attribute expression; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        start = dotted(node.value)
        return f"{start}.{node.attr}" if start else ""
    return ""


def imported_names(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for: ``{"sleep": "asyncio.sleep", "t": "time"}``."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def called(node: ast.Call, names: dict[str, str]) -> str:
    """The full name of what is called, imports resolved: ``asyncio.sleep``; empty when it has no name."""
    name = dotted(node.func)
    first, _, rest = name.partition(".")
    start = names.get(first, first)
    return f"{start}.{rest}" if rest else start
