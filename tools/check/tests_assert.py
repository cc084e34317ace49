"""A test that cannot fail proves nothing: every test asserts, itself or through a helper that does.

Counts as asserting: an ``assert`` that is not always true, ``pytest.raises``, ``warns`` and ``fail``,
``raise AssertionError``, and a call of a function under tests/ that asserts. Helpers are found by name, first
in the same file; where several share a name, all of them must assert.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from tools.check.source import Finding, SourceFile, called, dotted, imported_names

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

ASSERTING = {"pytest.raises", "pytest.warns", "pytest.fail", "pytest.deprecated_call"}
GO_TEST = re.compile(r"^func (Test\w+|Fuzz\w+)\((\w+) \*testing\.\w+\) \{\n(.*?)^\}", re.M | re.S)
MESSAGE = "asserts nothing, so it cannot fail; assert what its name promises"


def check(files: Sequence[SourceFile]) -> Iterator[Finding]:
    python = [file for file in files if file.is_python and file.path.startswith("tests/")]
    helpers = Helpers(python)
    for file in python:
        if file.is_test:
            names = imported_names(file.tree())
            for function in tests(file.tree()):
                if not asserts(function, names, helpers.seen_from(file)):
                    yield Finding(file.path, function.lineno, f"{function.name} {MESSAGE}")
    for file in files:
        if file.is_go and file.is_test:
            yield from go_tests(file)


class Helpers:
    """Which functions under tests/ assert, themselves or through each other."""

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self._functions = {file.path: functions(file) for file in files}
        self._asserting: dict[str, set[str]] = {file.path: set() for file in files}
        self._places: dict[str, list[str]] = defaultdict(list)
        for path, found in self._functions.items():
            for name in found:
                self._places[name].append(path)
        while self._learn(files):
            pass

    def seen_from(self, file: SourceFile) -> Callable[[str], bool]:
        """Whether a name asserts where ``file`` calls it: its own functions first, else all of that name."""

        def is_asserting(name: str) -> bool:
            if name in self._functions[file.path]:
                return name in self._asserting[file.path]
            places = self._places.get(name, [])
            return bool(places) and all(name in self._asserting[path] for path in places)

        return is_asserting

    def _learn(self, files: Sequence[SourceFile]) -> bool:
        """One more round, since helpers call each other; False when it taught nothing new."""
        learned = False
        for file in files:
            names, known = imported_names(file.tree()), self._asserting[file.path]
            for name, same_name in self._functions[file.path].items():
                if name not in known and all(asserts(one, names, self.seen_from(file)) for one in same_name):
                    known.add(name)
                    learned = True
        return learned


def functions(file: SourceFile) -> dict[str, list[Function]]:
    """The functions and methods of a file that are no tests, by name."""
    found: dict[str, list[Function]] = defaultdict(list)
    for node in ast.walk(file.tree()):
        if isinstance(node, Function) and not node.name.startswith("test"):
            found[node.name].append(node)
    return dict(found)


def tests(tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.name.startswith("test"):
            yield node


def asserts(function: Function, names: dict[str, str], helpers: Callable[[str], bool]) -> bool:
    return any(is_assertion(node, names, helpers) for node in ast.walk(function))


def is_assertion(node: ast.AST, names: dict[str, str], helpers: Callable[[str], bool]) -> bool:
    if isinstance(node, ast.Assert):
        return not is_always_true(node.test)
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return raised is not None and dotted(raised) == "AssertionError"
    if isinstance(node, ast.Call):
        name = called(node, names)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else name.rsplit(".", 1)[-1]
        return name in ASSERTING or helpers(last)
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
