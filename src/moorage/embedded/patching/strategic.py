"""Strategic merge patch: a merge patch whose lists are merged by key, with directives. Pure.

What ``kubectl apply`` and ``kubectl patch`` send for built-in kinds.
"""

from __future__ import annotations

from typing import Any

from moorage.core.kinds import Json
from moorage.embedded.patching.lists import SETS, merge_key

_ORDER = "$setElementOrder/"
_DROP = "$deleteFromPrimitiveList/"


def strategic_patch(target: Json, patch: Json) -> Json:
    """``target`` with ``patch`` merged in; neither is changed."""
    return _map(target, patch)


def _map(target: Json, patch: Json) -> Json:
    if patch.get("$patch") == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    if patch.get("$patch") == "delete":
        return {}
    result = dict(target)
    for name, value in patch.items():
        if name.startswith(_DROP):
            field = name.removeprefix(_DROP)
            result[field] = [item for item in result.get(field) or () if item not in value]
        elif not name.startswith("$"):
            if value is None:
                result.pop(name, None)
            else:
                result[name] = _value(name, result.get(name), value)
    kept = patch.get("$retainKeys")
    if isinstance(kept, list):
        result = {name: value for name, value in result.items() if name in kept}
    for name, order in patch.items():
        field = name.removeprefix(_ORDER)
        if name.startswith(_ORDER) and isinstance(result.get(field), list):
            result[field] = _ordered(field, result[field], order)
    return result


def _value(field: str, old: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return _map(old if isinstance(old, dict) else {}, new)
    if isinstance(new, list):
        return _list(field, old if isinstance(old, list) else [], new)
    return new


def _list(field: str, old: list[Any], new: list[Any]) -> list[Any]:
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in new):
        return [item for item in new if not (isinstance(item, dict) and "$patch" in item)]
    if field in SETS:
        return [*old, *(item for item in new if item not in old)]
    key = merge_key(field, [*old, *new])
    if not key or not all(isinstance(item, dict) for item in (*old, *new)):
        return [_without_directives(item) for item in new]
    result = list(old)
    for item in new:
        at = next((at for at, known in enumerate(result) if known.get(key) == item.get(key)), None)
        if item.get("$patch") == "delete":
            result = [known for known in result if known.get(key) != item.get(key)]
        elif at is None:
            result.append(_map({}, item))
        else:
            result[at] = _map(result[at], item)
    return result


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            k: _without_directives(v) for k, v in value.items() if not k.startswith("$") and v is not None
        }
    if isinstance(value, list):
        return [_without_directives(item) for item in value]
    return value


def _ordered(field: str, items: list[Any], order: list[Any]) -> list[Any]:
    """Items named in ``order`` in that order; the others stay behind those they followed."""
    key = merge_key(field, items)

    def place(item: Any) -> Any:
        return item.get(key) if key and isinstance(item, dict) else item

    wanted = [place(entry) for entry in order]
    named = sorted((i for i in items if place(i) in wanted), key=lambda item: wanted.index(place(item)))
    rest = [item for item in items if place(item) not in wanted]
    return [*named, *rest]
