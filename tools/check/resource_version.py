"""``resourceVersion=0`` asks for any old copy; nothing may be decided on one, so it is never sent.

Kubernetes, "Resource versions": 0 means the newest copy at hand, which may be arbitrarily old.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tools.check.source import Finding, SourceFile

NAMES = {"resourceVersion", "resource_version"}
IN_TEXT = re.compile(r"resourceVersion=0(?!\d)")
MESSAGE = "resourceVersion 0 reads an arbitrarily old copy; leave it out, or use a version that was seen"


def check(files: Sequence[SourceFile]) -> Iterator[Finding]:
    for file in files:
        if file.is_python and file.path.startswith("src/"):
            prose = docstrings(file.tree())
            for node in ast.walk(file.tree()):
                if node not in prose and asks_for_zero(node):
                    yield Finding(file.path, getattr(node, "lineno", 1), MESSAGE)


def docstrings(tree: ast.Module) -> set[ast.AST]:
    """Strings that are statements: they explain, and go nowhere."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def asks_for_zero(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return IN_TEXT.search(node.value) is not None
    if isinstance(node, ast.Dict):
        return any(is_name(key) and is_zero(value) for key, value in zip(node.keys, node.values, strict=True))
    if isinstance(node, ast.keyword):
        return node.arg in NAMES and is_zero(node.value)
    if isinstance(node, ast.Tuple):
        return len(node.elts) == 2 and is_name(node.elts[0]) and is_zero(node.elts[1])
    if isinstance(node, ast.Assign):
        return any(is_slot(target) for target in node.targets) and is_zero(node.value)
    return False


def is_slot(target: ast.expr) -> bool:
    return isinstance(target, ast.Subscript) and is_name(target.slice)


def is_name(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in NAMES


def is_zero(node: ast.expr) -> bool:
    # bool is an int, and False == 0: only the number and its text count.
    return isinstance(node, ast.Constant) and type(node.value) in (int, str) and str(node.value) == "0"
