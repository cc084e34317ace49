"""core decides and does nothing else: no call reads a clock, a file, the environment or a random source.

The imports are a contract of import-linter; this rule finds what needs no forbidden import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tools.check.source import Finding, SourceFile, called, imported_names

CORE = "src/moorage/core/"
IMPURE = {
    "open": "reads or writes a file",
    "print": "writes to stdout",
    "input": "reads stdin",
    "exec": "runs text as code",
    "eval": "runs text as code",
    "datetime.datetime.now": "reads the clock; take the time as an argument",
    "datetime.datetime.utcnow": "reads the clock; take the time as an argument",
    "datetime.datetime.today": "reads the clock; take the time as an argument",
    "datetime.date.today": "reads the clock; take the time as an argument",
    "urllib.request.urlopen": "reaches the network",
    "importlib.resources.files": "reads a file; take the content as an argument",
}


def check(files: Sequence[SourceFile]) -> Iterator[Finding]:
    for file in files:
        if file.is_python and file.path.startswith(CORE):
            names = imported_names(file.tree())
            for node in ast.walk(file.tree()):
                yield from in_node(file, node, names)


def in_node(file: SourceFile, node: ast.AST, names: dict[str, str]) -> Iterator[Finding]:
    if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
        yield Finding(file.path, node.lineno, "core is not asynchronous; move the waiting to engine")
    if isinstance(node, ast.Call) and (name := called(node, names)) in IMPURE:
        yield Finding(file.path, node.lineno, f"{name} {IMPURE[name]}")
