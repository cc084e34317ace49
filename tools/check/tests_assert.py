"""A test that cannot fail proves nothing: every test asserts, itself or through a helper that does.

Counts as asserting: an ``assert`` that is not always true, ``pytest.raises``, ``warns`` and ``fail``, ``raise
AssertionError``, and a call of a function under tests/ that asserts. Helpers are found by name; where several
functions share a name, all of them must assert.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tools.check.source import Finding, SourceFile, called, dotted, imported_names

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

ASSERTING = {"pytest.raises", "pytest.warns", "pytest.fail", "pytest.deprecated_call"}
GO_TEST = re.compile(r"^func (Test\w+|Fuzz\w+)\((\w+) \*testing\.\w+\) \{\n(.*?)^\}", re.M | re.S)
MESSAGE = "asserts nothing, so it cannot fail; assert what its name promises"


def check(files: Sequence[SourceFile]) -> Iterator[Finding]:
    python = [file for file in files if file.is_python and file.path.startswith("tests/")]
    helpers = asserting_helpers(python)
    for file in python:
        if file.is_test:
            names = imported_names(file.tree())
            for function in tests(file.tree()):
                if not asserts(function, names, helpers):
                    yield Finding(file.path, function.lineno, f"{function.name} {MESSAGE}")
    for file in files:
        if file.is_go and file.is_test:
            yield from go_tests(file)


def tests(tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.name.startswith("test"):
            yield node


def asserting_helpers(files: Sequence[SourceFile]) -> set[str]:
    """Names of the functions under tests/ that assert, through each other if need be."""
    found: dict[str, list[tuple[Function, dict[str, str]]]] = defaultdict(list)
    for file in files:
        names = imported_names(file.tree())
        for node in ast.walk(file.tree()):
            if isinstance(node, Function) and not node.name.startswith("test"):
                found[node.name].append((node, names))
    helpers: set[str] = set()
    while True:
        more = {
            name
            for name, functions in found.items()
            if name not in helpers and all(asserts(function, names, helpers) for function, names in functions)
        }
        if not more:
            return helpers
        helpers |= more


def asserts(function: Function, names: dict[str, str], helpers: set[str]) -> bool:
    return any(is_assertion(node, names, helpers) for node in ast.walk(function))


def is_assertion(node: ast.AST, names: dict[str, str], helpers: set[str]) -> bool:
    if isinstance(node, ast.Assert):
        return not is_always_true(node.test)
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return raised is not None and dotted(raised) == "AssertionError"
    if isinstance(node, ast.Call):
        name = called(node, names)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else name.rsplit(".", 1)[-1]
        return name in ASSERTING or last in helpers
    return False


def is_always_true(test: ast.expr) -> bool:
    """A constant, or a tuple: ``assert (value, "message")`` looks like a check and is none."""
    if isinstance(test, ast.Tuple):
        return bool(test.elts)
    return isinstance(test, ast.Constant) and bool(test.value)


def go_tests(file: SourceFile) -> Iterator[Finding]:
    """A Go test fails through its ``t``: by Error, Fatal or Fail, or by handing ``t`` to a helper."""
    for found in GO_TEST.finditer(file.text):
        name, t, body = found.groups()
        fails = re.search(rf"\b\w+\.(Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|[(,]\s*{t}\s*[,)]", body)
        if not fails:
            yield Finding(file.path, file.text.count("\n", 0, found.start()) + 1, f"{name} {MESSAGE}")
