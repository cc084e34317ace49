"""Label selectors as Kubernetes writes them: ``app=web,tier in (a, b),!canary``. Pure.

Used by ``-l`` of the command line, over the labels of sessions' Pods, and by the embedded API's lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from moorage.core.errors import UsageError

Fits = Callable[[Mapping[str, str]], bool]
_SET = re.compile(r"\s*(?P<key>[^\s,()=!]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)\s*")
_EQUAL = re.compile(r"\s*(?P<key>[^\s,()=!<>]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^\s,()=!<>]*)\s*")
_ORDER = re.compile(r"\s*(?P<key>[^\s,()=!<>]+)\s*(?P<op>[<>])\s*(?P<value>-?\d+)\s*")
_EXISTS = re.compile(r"\s*(?P<op>!?)\s*(?P<key>[^\s,()=!<>]+)\s*")
_FORMS = (_SET, _EQUAL, _ORDER, _EXISTS)


def parse(text: str) -> Fits | None:
    """What a selector chooses by labels; None when it chooses everything. Raises UsageError, in the words of
    the API server, for what is none."""
    rules = []
    at = 0
    while at < len(text):
        found = next((m for form in _FORMS if (m := form.match(text, at))), None)
        if found is None or (found.end() < len(text) and text[found.end()] != ","):
            rest = text[found.end() if found else at :].lstrip()[:1] or "end of string"
            raise UsageError(
                f"unable to parse requirement: found '{rest}', expected: identifier",
                hint="write KEY=VALUE, KEY!=VALUE, 'KEY in (A, B)', KEY or '!KEY', with commas between",
                field="selector",
            )
        rules.append(_rule(found.groupdict()))
        at = found.end() + 1
    if not rules:
        return None
    return lambda labels: all(rule(labels) for rule in rules)


def _rule(parts: dict[str, str]) -> Fits:
    key, op = parts["key"], parts["op"]
    if "values" in parts:
        values = {value.strip() for value in parts["values"].split(",")}
        if op == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if "value" not in parts:
        return (lambda labels: key not in labels) if op else (lambda labels: key in labels)
    value = parts["value"]
    if op in "<>":
        return lambda labels: _ordered(labels.get(key), op, int(value))
    if op == "!=":
        return lambda labels: labels.get(key) != value
    return lambda labels: labels.get(key) == value


def _ordered(text: str | None, op: str, limit: int) -> bool:
    if text is None or not text.lstrip("-").isdecimal():
        return False
    return int(text) > limit if op == ">" else int(text) < limit
