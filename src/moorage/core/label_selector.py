"""Label selectors as Kubernetes writes them: ``app=web,tier in (a, b),!canary``. Pure.

Used by ``-l`` of the command line, over the labels of sessions' Pods, and by the embedded API's lists.
Grammar and words are those of an API server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from moorage.core.errors import UsageError

Fits = Callable[[Mapping[str, str]], bool]
_WORD = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_SYMBOLS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">", ""})
_OPERATORS = ("in", "notin", "=", "==", "!=", ">", "<")


class Requirement(NamedTuple):
    """``operator``: in, notin, =, ==, !=, >, <, exists or !."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()


Check = Callable[[Requirement], str]
"""What else is wrong with a requirement, or nothing."""


class _NotOne(Exception):
    """In the server's words."""


def parse(text: str, check: Check = lambda requirement: "") -> Fits | None:
    """What a selector chooses by labels; None when it chooses everything. Raises UsageError, in the words of
    the API server, for what is none."""
    try:
        rules = [_rule(requirement) for requirement in _Parser(text, check).requirements()]
    except _NotOne as error:
        raise UsageError(
            str(error),
            hint="write KEY=VALUE, KEY!=VALUE, 'KEY in (A, B)', KEY or '!KEY', with commas between",
            field="selector",
        ) from None
    if not rules:
        return None
    return lambda labels: all(rule(labels) for rule in rules)


class _Parser:
    """Looks one word ahead; an empty word is the end of the text."""

    def __init__(self, text: str, check: Check) -> None:
        self._words = [found[1] for found in _WORD.finditer(text)]
        self._check = check

    def _next(self) -> str:
        return self._words[0] if self._words else ""

    def _take(self) -> str:
        return self._words.pop(0) if self._words else ""

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while word := self._next():
            if word in _SYMBOLS and word != "!":
                raise _NotOne(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except _NotOne as error:
                raise _NotOne(f"unable to parse requirement: {error}") from None
            end = self._take()
            if end not in ("", ","):
                raise _NotOne(f"found '{end}', expected: ',' or 'end of string'")
            after = self._next()
            if end and after in _SYMBOLS and after != "!":
                raise _NotOne(f"found '{after}', expected: identifier after ','")
        return found

    def _requirement(self) -> Requirement:
        key = self._take()
        absent = key == "!"
        if absent:
            key = self._take()
        if key in _SYMBOLS:
            raise _NotOne(f"found '{key}', expected: identifier")
        if absent or self._next() in ("", ","):
            return self._checked(Requirement(key, "!" if absent else "exists"))
        self._checked(Requirement(key, "exists"))
        operator = self._take()
        if operator not in _OPERATORS:
            raise _NotOne(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
        values = self._set() if operator in ("in", "notin") else [self._value()]
        if operator in ("<", ">") and not values[0].removeprefix("-").isdecimal():
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _NotOne(f'values[0]: Invalid value: "{values[0]}": {why}')
        return self._checked(Requirement(key, operator, frozenset(values)))

    def _checked(self, requirement: Requirement) -> Requirement:
        if why := self._check(requirement):
            raise _NotOne(why)
        return requirement

    def _value(self) -> str:
        if self._next() in ("", ","):
            return ""
        word = self._take()
        if word in _SYMBOLS:
            raise _NotOne(f"found '{word}', expected: identifier")
        return word

    def _set(self) -> list[str]:
        word = self._take()
        if word != "(":
            raise _NotOne(f"found '{word}' expected: '('")
        word = self._next()
        if word in _SYMBOLS and word not in (",", ")"):
            raise _NotOne(f"found '{word}', expected: ',', ')' or identifier")
        found = [self._item()]
        while (word := self._take()) == ",":
            found.append(self._item())
        if word != ")":
            raise _NotOne(f"found '{word}', expected: ',' or ')'")
        return found

    def _item(self) -> str:
        if self._next() in (",", ")"):
            return ""
        word = self._take()
        if word in _SYMBOLS:
            raise _NotOne(f"found '{word}', expected: ',', or identifier")
        return word


def _rule(requirement: Requirement) -> Fits:
    key, operator, values = requirement
    match operator:
        case "exists":
            return lambda labels: key in labels
        case "!":
            return lambda labels: key not in labels
        case "notin" | "!=":
            return lambda labels: labels.get(key) not in values
        case "<" | ">":
            limit = int(next(iter(values)))
            return lambda labels: _ordered(labels.get(key), operator, limit)
    return lambda labels: labels.get(key) in values


def _ordered(text: str | None, op: str, limit: int) -> bool:
    if text is None or not text.lstrip("-").isdecimal():
        return False
    return int(text) > limit if op == ">" else int(text) < limit
