"""``metadata.managedFields``: who set which field, kept by every write; and server-side apply. Pure.

Called by the registry for each create, update, patch and apply.
"""

from __future__ import annotations

from typing import Any

from moorage.core.kinds import Json
from moorage.embedded.patching import fieldsets
from moorage.embedded.patching.fieldsets import Path
from moorage.embedded.patching.lists import SETS, WHOLE, identity, keys_of
from moorage.embedded.refusal import Refusal

Managed = list[Json]


def updated(
    old: Json | None, new: Json, *, manager: str, api_version: str, now: str, subresource: str = ""
) -> Managed:
    """The managedFields of ``new`` after ``manager`` wrote it over ``old`` (None: created it)."""
    before = fieldsets.paths_of(old) if old else {}
    after = fieldsets.paths_of(new)
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    changed -= _ALWAYS_THERE
    gone = before.keys() - after.keys()
    entries = [dict(entry) for entry in new["metadata"].get("managedFields") or ()]
    if not changed and not gone:
        return entries
    mine = _mine(entries, manager, "Update", subresource)
    result: Managed = []
    for entry in entries:
        paths = fieldsets.paths_in(entry.get("fieldsV1") or {})
        taken = gone if entry is mine else gone | {path for path in changed if path[-1] != "."}
        result += _kept(entry, paths - taken)
    if changed:
        had = next((e for e in result if _is(e, manager, "Update", subresource)), None)
        paths = changed | (fieldsets.paths_in(had["fieldsV1"]) if had else set())
        result = [entry for entry in result if entry is not had]
        result.append(_entry(manager, "Update", subresource, api_version, now, paths))
    return _sorted(result)


def applied(
    live: Json | None, config: Json, *, manager: str, api_version: str, now: str, force: bool
) -> Json:
    """``live`` (None: nothing yet) after ``manager`` applied ``config``. Raises Refusal 409 on conflicts."""
    # Applied are values, and items of keyed lists; a mapping around them is nobody's.
    wanted = {path: value for path, value in fieldsets.paths_of(config).items() if _counts(path)}
    if live is None:
        managed = [_entry(manager, "Apply", "", api_version, now, set(wanted))]
        return {**config, "metadata": {**config["metadata"], "managedFields": managed}}
    entries = [dict(entry) for entry in live["metadata"].get("managedFields") or ()]
    current = fieldsets.paths_of(live)
    differing = {p for p, value in wanted.items() if p[-1] != "." and current.get(p, _NOTHING) != value}
    mine = _mine(entries, manager, "Apply", "")
    result: Managed = []
    conflicts: list[tuple[str, Path]] = []
    owned_by_others: set[Path] = set()
    for entry in entries:
        if entry is mine:
            continue
        paths = fieldsets.paths_in(entry.get("fieldsV1") or {})
        conflicts += [(_shown(entry), path) for path in sorted(paths & differing)]
        paths = paths - differing
        owned_by_others |= paths
        result += _kept(entry, paths)
    if conflicts and not force:
        raise _conflict(conflicts)
    merged: Json = _merged(live, config)
    dropped = (fieldsets.paths_in(mine["fieldsV1"]) if mine else set()) - wanted.keys() - owned_by_others
    # What is inside goes first, and an item or mapping itself after all that stood in it.
    for path in sorted(dropped, key=lambda path: (-len(path), path[-1] == ".", path)):
        merged = fieldsets.without(merged, path)
    fresh = _entry(manager, "Apply", "", api_version, now, set(wanted))
    if mine and mine["fieldsV1"] == fresh["fieldsV1"]:
        fresh["time"] = mine.get("time", now)
    if wanted:  # who applied nothing owns nothing
        result.append(fresh)
    merged["metadata"] = {**merged["metadata"], "managedFields": _sorted(result)}
    return merged


_NOTHING = object()
# Mappings that every object of a kind has, so that no write brings them into being.
_ALWAYS_THERE = frozenset(
    {
        ("f:spec", "."),
        ("f:status", "."),
        ("f:spec", "f:containers", "."),
        ("f:spec", "f:resources", "."),
        ("f:source", "."),
        ("f:template", "."),
        ("f:template", "f:spec", "."),
        ("f:template", "f:spec", "f:containers", "."),
    }
)


def _counts(path: Path) -> bool:
    return path[-1] != "." or path[-2].startswith("k:")


def _merged(live: Any, config: Any, field: str = "") -> Any:
    if field in WHOLE:
        return config
    if isinstance(config, dict) and isinstance(live, dict):
        result = dict(live)
        for name, value in config.items():
            result[name] = _merged(live[name], value, name) if name in live else value
        return result
    if isinstance(config, list) and isinstance(live, list):
        return _merged_list(live, config, field)
    return config


def _merged_list(live: list[Any], config: list[Any], field: str) -> list[Any]:
    if field in SETS:
        return [*live, *(item for item in config if item not in live)]
    keys = keys_of(field, [*live, *config])
    if not keys:
        return config
    result = list(live)
    for item in config:
        known = (at for at, old in enumerate(result) if identity(old, keys) == identity(item, keys))
        at = next(known, None)
        if at is None:
            result.append(item)
        else:
            result[at] = _merged(result[at], item)
    return result


def _conflict(conflicts: list[tuple[str, Path]]) -> Refusal:
    count = len(conflicts)
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {manager}",
            "field": fieldsets.spelled(path),
        }
        for manager, path in conflicts
    ]
    if count == 1:
        manager, path = conflicts[0]
        message = f"Apply failed with 1 conflict: conflict with {manager}: {fieldsets.spelled(path)}"
    else:
        lines = []
        for manager in dict.fromkeys(manager for manager, _ in conflicts):
            lines.append(f"conflicts with {manager}:")
            lines += [f"- {fieldsets.spelled(path)}" for name, path in conflicts if name == manager]
        message = f"Apply failed with {count} conflicts: " + "\n".join(lines)
    return Refusal(409, "Conflict", message, {"causes": causes})


def _shown(entry: Json) -> str:
    text = f'"{entry.get("manager", "")}"'
    if entry.get("subresource"):
        text += f' with subresource "{entry["subresource"]}"'
    if entry.get("operation") == "Update":
        text += f" using {entry.get('apiVersion', '')}"
    return text


def _is(entry: Json, manager: str, operation: str, subresource: str) -> bool:
    return (entry.get("manager"), entry.get("operation"), entry.get("subresource") or "") == (
        manager,
        operation,
        subresource,
    )


def _mine(entries: Managed, manager: str, operation: str, subresource: str) -> Json | None:
    return next((entry for entry in entries if _is(entry, manager, operation, subresource)), None)


def _kept(entry: Json, paths: set[Path]) -> Managed:
    return [{**entry, "fieldsV1": fieldsets.tree(paths)}] if paths else []


def _sorted(entries: Managed) -> Managed:
    """The server's order."""
    return sorted(entries, key=lambda e: (e.get("operation", ""), e.get("time", ""), e.get("manager", "")))


def _entry(
    manager: str, operation: str, subresource: str, api_version: str, now: str, paths: set[Path]
) -> Json:
    entry: Json = {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": fieldsets.tree(paths),
    }
    return {**entry, "subresource": subresource} if subresource else entry
