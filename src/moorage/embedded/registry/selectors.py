"""Label and field selectors of lists and watches. Pure.

Called by the API's reads. Raises Refusal 400 for what is no selector, or names a field that cannot be
selected by.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from moorage.core.errors import UsageError
from moorage.core.kinds import Json
from moorage.core.label_selector import Requirement
from moorage.core.label_selector import parse as label_selector_text
from moorage.embedded.refusal import bad_request
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.meta import check_key, check_labels

Matches = Callable[[Json], bool]


def labels(text: str) -> Matches | None:
    """The meaning of a ``labelSelector``; None when it selects everything."""
    try:
        fits = label_selector_text(text, _fault)
    except UsageError as error:
        raise bad_request(error.message) from error
    return None if fits is None else lambda obj: fits(obj["metadata"].get("labels") or {})


def _fault(requirement: Requirement) -> str:
    """What is wrong with a key or a value, in the server's words."""
    if faults := check_key("<nil>", requirement.key):
        told = [f"<nil>: {fault.message}" for fault in faults]
        return told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    for at, value in enumerate(sorted(requirement.values)):
        if faults := check_labels(f"values[{at}][{requirement.key}]", {"x": value}):
            return f"{faults[0].field}: {faults[0].message}"
    return ""


def fields(text: str, kind: Kind) -> Matches | None:
    """The meaning of a ``fieldSelector`` for a kind; None when it selects everything."""
    rules = []
    for part in filter(str.strip, re.split(r"(?<!\\),", text)):
        found = re.fullmatch(r"\s*(?P<field>[^=!]*?)\s*(?P<op>==|=|!=)\s*(?P<value>.*)", part)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        field, value = found["field"], _unescaped(found["value"])
        if not field and not value:
            continue
        if field not in ("metadata.name", "metadata.namespace", *kind.selectable):
            raise bad_request(_unknown(field, kind))
        rules.append((field, found["op"] == "!=", value))
    if not rules:
        return None
    return lambda obj: all((_at(obj, field) != value) is negated for field, negated, value in rules)


def _unescaped(value: str) -> str:
    bare = re.sub(r"\\.", "", value)
    if found := re.search("[,=]", bare):
        raise bad_request(f"invalid field selector: unescaped character in value: {ord(found[0])}")
    return re.sub(r"\\(.)", r"\1", value)


def _unknown(field: str, kind: Kind) -> str:
    if kind.selectable:
        return f"field label not supported: {field}"
    return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'


_DEFAULTS = {"spec.unschedulable": "false", "spec.hostNetwork": "false"}
_ELSEWHERE = {"source": "source.component"}


def _at(obj: Json, field: str) -> str:
    value: Any = obj
    for part in _ELSEWHERE.get(field, field).split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return _DEFAULTS.get(field, "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def both(left: Matches | None, right: Matches | None) -> Matches | None:
    """An object must satisfy both."""
    if left is None or right is None:
        return left or right
    return lambda obj: left(obj) and right(obj)


def label_selector(selector: Json | None) -> Matches:
    """The meaning of a LabelSelector object; an empty one selects everything."""
    wanted = (selector or {}).get("matchLabels") or {}
    rules = (selector or {}).get("matchExpressions") or ()

    def matches(obj: Json) -> bool:
        found = obj["metadata"].get("labels") or {}
        return all(found.get(k) == v for k, v in wanted.items()) and all(_fits(r, found) for r in rules)

    return matches


def _fits(rule: Json, found: Json) -> bool:
    key, values = str(rule.get("key")), rule.get("values") or ()
    match rule.get("operator"):
        case "In":
            return found.get(key) in values
        case "NotIn":
            return found.get(key) not in values
        case "Exists":
            return key in found
        case "DoesNotExist":
            return key not in found
    return False
