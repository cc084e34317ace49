"""What admission changed in what the author wrote: fields of ours are ``core.owned_fields``' business. Pure.

Called by ``sessions.launch`` with the answer of a dry run. Reports and never judges: a mesh or a policy may
well mean it. What was only added is no change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.core.kinds import Json
from moorage.core.quantities import same_quantity

_KEYS = ("name", "mountPath", "devicePath", "containerPort", "ip")
"""By which the items of a list are told apart, where all have one of their own."""


def author_changes(sent: Json, admitted: Json) -> tuple[str, ...]:
    """Paths of what was sent and is gone or another in the admitted object, items by their names:
    ``spec.initContainers[mesh].restartPolicy``. What a server leaves out or writes otherwise is the same."""
    metadata, found = sent.get("metadata") or {}, admitted.get("metadata") or {}
    changed = [
        path
        for part in ("labels", "annotations")
        for path in _changes(metadata.get(part), found.get(part), f"metadata.{part}")
    ]
    return (*changed, *_changes(sent.get("spec"), admitted.get("spec"), "spec"))


def _changes(sent: Any, found: Any, path: str) -> Iterator[str]:
    if found is None:
        if _says(sent):
            yield path
    elif isinstance(sent, dict) and isinstance(found, dict):
        for name, value in sent.items():
            yield from _changes(value, found.get(name), f"{path}.{name}")
    elif isinstance(sent, list) and isinstance(found, list):
        yield from _items(sent, found, path)
    elif sent != found and not same_quantity(str(sent), str(found)):
        yield path


def _says(value: Any) -> bool:
    """An empty value says nothing: a server leaves it out."""
    return any(map(_says, value.values())) if isinstance(value, dict) else bool(value)


def _items(sent: list[Any], found: list[Any], path: str) -> Iterator[str]:
    if not all(isinstance(item, dict) for item in (*sent, *found)):
        if sent != found:
            yield path
        return
    key = _key_of(sent)
    there = {item.get(key): item for item in found}
    for item in sent:
        if key is not None:
            yield from _changes(item, there.get(item[key]), f"{path}[{item[key]}]")
        elif all(any(_changes(item, other, path)) for other in found):
            yield path


def _key_of(items: list[Json]) -> str | None:
    """The field that tells all of ``items`` apart."""
    for key in _KEYS:
        values = {str(item[key]) for item in items if item.get(key) is not None}
        if len(values) == len(items):
            return key
    return None
