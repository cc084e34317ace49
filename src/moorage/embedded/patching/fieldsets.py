"""Sets of field paths in the FieldsV1 form of ``managedFields``. Pure.

A set is a tree: ``{"f:spec": {"f:replicas": {}}, ".": {}}``; ``f:`` a field, ``k:`` an item of a keyed
list, ``v:`` a value of a set, ``.`` the node itself. A leaf is an empty mapping.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from moorage.core.kinds import Json
from moorage.embedded.patching.lists import SETS, WHOLE, identity, keys_of

Path = tuple[str, ...]
_OURS = ("apiVersion", "kind")
_SERVERS = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "generateName",
)


def paths_of(obj: Json) -> dict[Path, Any]:
    """All paths that an object sets, with the value at each leaf (None at inner nodes)."""
    found: dict[Path, Any] = {}
    for name, value in obj.items():
        if name == "metadata":
            kept = {key: inner for key, inner in (value or {}).items() if key not in _SERVERS}
            for key, inner in kept.items():
                _walk(key, inner, ("f:metadata", f"f:{key}"), found)
        elif name not in _OURS:
            _walk(name, value, (f"f:{name}",), found)
    return found


def _walk(field: str, value: Any, path: Path, found: dict[Path, Any]) -> None:
    if field in WHOLE or not isinstance(value, dict | list) or not value:
        found[path] = value
        return
    if isinstance(value, dict):
        found[(*path, ".")] = None
        for key, inner in value.items():
            _walk(key, inner, (*path, f"f:{key}"), found)
        return
    keys = keys_of(field, value)
    if field in SETS:
        found[(*path, ".")] = None
        for item in value:
            found[(*path, f"v:{_text(item)}")] = item
    elif keys and all(isinstance(item, dict) for item in value):
        found[(*path, ".")] = None
        for item in value:
            inner_path = (*path, f"k:{_text(identity(item, keys))}")
            found[(*inner_path, ".")] = None
            for key, inner in item.items():
                _walk(key, inner, (*inner_path, f"f:{key}"), found)
    else:
        found[path] = value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def tree(paths: set[Path]) -> Json:
    """The FieldsV1 form of a set of paths."""
    root: Json = {}
    for path in sorted(paths):
        at = root
        for part in path:
            at = at.setdefault(part, {})
    return root


def paths_in(fields: Json) -> set[Path]:
    """The set of paths that a FieldsV1 tree stands for."""
    return set(_leaves(fields, ()))


def _leaves(fields: Json, path: Path) -> Iterator[Path]:
    if not fields and path:
        yield path
    for part, inner in fields.items():
        yield from _leaves(inner, (*path, part))


def spelled(path: Path) -> str:
    """A path as conflicts name it: ``.spec.containers[name="main"].image``."""
    text = ""
    for part in path:
        kind, _, rest = part.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            values = json.loads(rest)
            text += "[" + ",".join(f"{key}={_text(value)}" for key, value in values.items()) + "]"
        elif kind == "v":
            text += f"[={rest}]"
    return text


def without(value: Any, path: Path, field: str = "") -> Any:
    """``value`` without what stands at ``path``; an item or mapping is removed when its ``.`` is the path."""
    part, rest = path[0], path[1:]
    kind, _, name = part.partition(":")
    if kind == "f" and isinstance(value, dict) and name in value:
        result = dict(value)
        if not rest or (rest == (".",) and not value[name]):
            del result[name]
        elif rest != (".",):
            result[name] = without(value[name], rest, name)
        return result
    if kind == "v" and isinstance(value, list):
        return [item for item in value if _text(item) != name]
    if kind == "k" and isinstance(value, list):
        keys = keys_of(field, value)
        result_list = []
        for item in value:
            if _text(identity(item, keys)) != name:
                result_list.append(item)
            elif rest == (".",):
                if set(item) - set(keys):
                    result_list.append(item)
            elif len(rest) == 1 and rest[0].removeprefix("f:") in keys:
                result_list.append(item)  # what it is known by goes with it, not before it
            else:
                result_list.append(without(item, rest))
        return result_list
    return value
