"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902). Pure; never change what they are given."""

from __future__ import annotations

import copy
import json
from typing import Any

from moorage.core.kinds import Json

_MOST_COPIED = 3 << 20
"""Bytes of JSON that the copies of one patch may add up to (kube-apiserver): each may double a document."""


class PatchFailed(Exception):
    """A JSON patch that cannot be applied: its test failed, or a path does not exist."""


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: null removes, mappings are merged, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def json_patch(target: Json, operations: Any) -> Json:
    """RFC 6902. Raises PatchFailed."""
    if not isinstance(operations, list):
        raise PatchFailed("not a list")
    document: Any = copy.deepcopy(target)
    copied = 0
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise PatchFailed("not an operation")
        if operation.get("op") == "copy":
            copied += len(json.dumps(_find(document, _parts(str(operation.get("from", ""))))))
            if copied > _MOST_COPIED:
                raise PatchFailed(f"its copies exceed {_MOST_COPIED} bytes")
        document = _apply(document, operation)
    if not isinstance(document, dict):
        raise PatchFailed("no object is left")
    return document


def _apply(document: Any, operation: Json) -> Any:
    path = _parts(operation["path"])
    match operation.get("op"):
        case "add":
            return _put(document, path, copy.deepcopy(operation.get("value")), insert=True)
        case "replace":
            _find(document, path)
            return _put(document, path, copy.deepcopy(operation.get("value")), insert=False)
        case "remove":
            return _remove(document, path)
        case "test":
            if not _same(_find(document, path), operation.get("value")):
                raise PatchFailed("a test failed")
            return document
        case "move" | "copy" as op:
            source = _parts(str(operation.get("from", "")))
            value = copy.deepcopy(_find(document, source))
            if op == "move":
                document = _remove(document, source)
            return _put(document, path, value, insert=True)
    raise PatchFailed(f"no operation {operation.get('op')}")


def _parts(pointer: str) -> list[str]:
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise PatchFailed(f"{pointer} is no path")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def _index(at: str, length: int) -> int:
    if not at.isdecimal() or len(at) > len(str(length)) or int(at) >= length:
        raise PatchFailed(f"no item {at}")
    return int(at)


def _find(document: Any, path: list[str]) -> Any:
    for part in path:
        if isinstance(document, list):
            document = document[_index(part, len(document))]
        elif isinstance(document, dict) and part in document:
            document = document[part]
        else:
            raise PatchFailed(f"no {part}")
    return document


def _put(document: Any, path: list[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    parent, last = _find(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list) and last == "-":
        parent.append(value)
    elif isinstance(parent, list) and insert:
        parent.insert(_index(last, len(parent) + 1), value)
    elif isinstance(parent, list):
        parent[_index(last, len(parent))] = value
    else:
        raise PatchFailed(f"nothing to put {last} into")
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        raise PatchFailed("the whole object cannot be removed")
    parent = _find(document, path[:-1])
    if isinstance(parent, list):
        del parent[_index(path[-1], len(parent))]
    elif isinstance(parent, dict) and path[-1] in parent:
        del parent[path[-1]]
    else:
        raise PatchFailed(f"no {path[-1]}")
    return document


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON values: true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
