"""A parsed template filled in from one object. A key that is not there is no fault and prints nothing.

``null`` is a value of its own: it equals only null, and no order holds for it. (kubectl fails there; its
objects hold no nulls, ours say by them that something is not known.)
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

from moorage.cli.jsonpath.nodes import (
    Field,
    Filter,
    Node,
    Path,
    Range,
    Recursive,
    Slice,
    Template,
    Text,
    Union,
    Wildcard,
)

_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ESCAPED: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_PLAIN_BELOW: Final = 1e21
"""Whole numbers below it are written without an exponent."""


class PathFailed(ValueError):
    """A path does not fit the object: an index beyond a list, a filter on what is no list."""


def fill_in(template: Template, value: Any) -> str:
    """The text of the template for ``value``, which is as JSON gives it."""
    return "".join(_texts(template, value))


def find(template: Template, value: Any) -> list[Any]:
    """Every value that the paths of the template find, without their texts."""
    found: list[Any] = []
    for part in template:
        if isinstance(part, tuple):
            found += _walk([value], part)
    return found


def _texts(template: Template, value: Any) -> Iterator[str]:
    for part in template:
        if isinstance(part, Text):
            yield str(part.value)
        elif isinstance(part, Range):
            for item in _walk([value], part.path):
                yield from _texts(part.body, item)
        else:
            yield " ".join(_text(item) for item in _walk([value], part))


def _text(value: Any) -> str:
    if isinstance(value, dict | list):
        whole = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return whole.translate(_ESCAPED)
    return scalar_text(value, "null")


def scalar_text(value: Any, null: str) -> str:
    """``true``, ``7``, ``0.5`` or a text as it is."""
    if value is None:
        return null
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _PLAIN_BELOW:
        return str(int(value))
    return str(value)


def _walk(values: list[Any], path: Path) -> list[Any]:
    for node in path:
        values = _step(values, node)
    return values


def _step(values: list[Any], node: Node) -> list[Any]:
    match node:
        case Text(value):
            return [value]
        case Field(name):
            return [value[name] for value in values if isinstance(value, dict) and name in value]
        case Wildcard():
            return [part for value in values for part in _parts(value)]
        case Recursive():
            return [below for value in values for below in _below(value)]
        case Slice():
            return [item for value in values if value is not None for item in _sliced(value, node)]
        case Union(paths):
            return [found for path in paths for found in _walk(values, path)]
        case Filter():
            return [item for value in values for item in _filtered(value, node)]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _below(value: Any) -> Iterator[Any]:
    """``value`` and all below it that has parts, each before its parts."""
    if parts := _parts(value):
        yield value
        for part in parts:
            yield from _below(part)


def _sliced(value: Any, node: Slice) -> list[Any]:
    if not isinstance(value, list):
        raise PathFailed(f"{_kind(value)} has no items to take by number")
    count = len(value)
    start = _index(node.start or 0, count)
    if node.single:
        if not 0 <= start < count:
            raise PathFailed(f"there is no item {node.start} in a list of {count}")
        return [value[start]]
    end = count if node.end is None else _index(node.end, count)
    if start == end:
        return []
    if not 0 <= start < count or not 0 <= end <= count or start > end:
        raise PathFailed(f"there are no items {start}:{end} in a list of {count}")
    if node.step is not None and node.step <= 0:
        raise PathFailed("the step of a slice must be above zero")
    return value[start : end : node.step or 1]


def _index(number: int, count: int) -> int:
    return number + count if number < 0 else number


def _filtered(value: Any, node: Filter) -> list[Any]:
    if not isinstance(value, list):
        raise PathFailed(f"{_kind(value)} is no list and cannot be filtered")
    return [item for item in value if _passes(item, node)]


def _passes(item: Any, node: Filter) -> bool:
    if node.operator == "exists":
        try:
            return bool(_walk([item], node.left))
        except PathFailed:
            return False
    left, right = _walk([item], node.left), _walk([item], node.right)
    if len(left) > 1 or len(right) > 1:
        raise PathFailed("a filter can only compare one value with one other")
    return bool(left and right) and _compare(left[0], node.operator, right[0])


def _compare(left: Any, sign: str, right: Any) -> bool:
    if left is None or right is None:
        return sign in ("==", "!=") and (left is right) == (sign == "==")
    if _family(left) != _family(right):
        raise PathFailed(f"{_kind(left)} cannot be compared with {_kind(right)}")
    if sign in ("==", "!="):
        return bool((left == right) == (sign == "=="))
    if isinstance(left, bool):
        raise PathFailed("true and false have no order")
    return _ORDER[sign](left, right)


def _family(value: Any) -> type:
    if isinstance(value, dict | list):
        raise PathFailed(f"{_kind(value)} cannot be compared")
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
