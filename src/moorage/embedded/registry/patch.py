"""PATCH of one object: the right kind of patch on the newest state, then an update like any other.

Called by ``embedded.api``.
"""

from __future__ import annotations

import json
from typing import Any

from moorage.core.kinds import Json
from moorage.embedded.patching import managed
from moorage.embedded.patching.plain import PatchFailed, json_patch, merge_patch
from moorage.embedded.patching.strategic import strategic_patch
from moorage.embedded.refusal import (
    bad_request,
    internal,
    invalid,
    rejected,
    unnamed,
    unpatchable,
    unsupported_media,
)
from moorage.embedded.registry.checks import check_name_fits
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.meta import bad
from moorage.embedded.registry.registry import Registry, Undecodable
from moorage.embedded.registry.write import Write
from moorage.embedded.storage.store import Key, copy

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
PATCHES = frozenset({JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH})
_GO_TYPES = {dict: "object", list: "array", str: "string", bool: "bool"}


def patched(kind: Kind, content_type: str, old: Json, patch: Any) -> Json:
    """``old`` with a patch in it. Raises Refusal 400, 415 or 422."""
    wanted = list if content_type == JSON_PATCH else dict
    if patch is not None and not isinstance(patch, wanted):
        told = "[]handlers.jsonPatchOp" if wanted is list else "map[string]interface {}"
        prefix = "" if content_type == STRATEGIC_PATCH else "error decoding patch: "
        given = _GO_TYPES.get(type(patch), "number")
        raise bad_request(f"{prefix}json: cannot unmarshal {given} into Go value of type {told}")
    if content_type == JSON_PATCH:
        try:
            return json_patch(old, patch or [])
        except PatchFailed:
            raise rejected() from None
    if content_type == MERGE_PATCH:
        if patch is None:
            raise bad_request("Invalid JSON Patch")
        merged: Json = merge_patch(old, patch)
        return merged
    # A strategic merge needs to know the lists of the type, which the server only does for its own.
    if kind.custom:
        raise unsupported_media()
    changes = dict(patch or {})
    for fixed in ("kind", "apiVersion"):
        changes.pop(fixed, None)
    return strategic_patch(old, changes)


def patch_object(
    registry: Registry,
    kind: Kind,
    old: Json,
    content_type: str,
    patch: Any,
    write: Write,
) -> tuple[Json, list[str]]:
    """What a patch makes of ``old``, which is stored; to be stored in its place, and warnings."""
    new = patched(kind, content_type, copy(old), patch)
    try:
        obj, warnings = registry.decode(kind, new, write.validation)
    except Undecodable as error:
        raise unpatchable(json.dumps(new), error.why) from None
    metadata, before = obj["metadata"], old["metadata"]
    if not metadata.get("name"):
        raise unnamed(before["name"])
    metadata.setdefault("resourceVersion", before["resourceVersion"])
    _check_uid(kind, metadata, before)
    return obj, warnings


def _check_uid(kind: Kind, metadata: Json, before: Json) -> None:
    if metadata.get("uid", before["uid"]) != before["uid"]:
        fault = bad("metadata.uid", metadata["uid"], "field is immutable")
        raise invalid(kind.name, kind.resource.group, before["name"], [fault])


def applied(registry: Registry, kind: Kind, at: Key, config: Any, write: Write) -> tuple[Json, list[str]]:
    """Server-side apply of ``config`` to what is stored; the object to create or to store, and warnings.

    Where something is stored its version stands in the result. Raises Refusal 400, 409, 422 or 500.
    """
    config = _config(kind, {} if config is None else config)
    obj = _typed(registry, kind, config)
    if obj["metadata"].get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if misfit := check_name_fits(at[1], obj):
        raise bad_request(misfit)
    obj["metadata"].setdefault("name", at[1])
    if kind.resource.namespaced:
        obj["metadata"].setdefault("namespace", at[0])
    version = obj["metadata"].pop("resourceVersion", None)
    live = registry.store.get(kind.key, at)
    if live is not None:
        _check_uid(kind, obj["metadata"], live["metadata"])
    made = managed.applied(
        live,
        obj,
        manager=write.manager,
        api_version=kind.resource.api_version,
        now=registry.time(),
        force=write.force,
    )
    if live is not None:
        made["metadata"]["resourceVersion"] = version or live["metadata"]["resourceVersion"]
    return made, []


def _config(kind: Kind, config: Any) -> Json:
    """What is applied, if it is of this kind."""
    if not isinstance(config, dict):
        given = _GO_TYPES.get(type(config), "number")
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{given} into Go value of type map[string]interface {{}}"
        )
    version, name = str(config.get("apiVersion") or ""), str(config.get("kind") or "")
    if (version, name) != (kind.resource.api_version, kind.name):
        shown = version if "/" in version else f"/{version}"
        raise bad_request(f"invalid object type: {shown}, Kind={name}")
    return config


def _typed(registry: Registry, kind: Kind, config: Json) -> Json:
    """The object; a field that its kind does not have is an error, whatever the validation."""
    given = config["metadata"] if isinstance(config.get("metadata"), dict) else {}
    group = kind.resource.api_version if kind.resource.group else f"/{kind.resource.version}"
    what = f"{given.get('namespace') or ''}/{given.get('name') or ''}; {group}, Kind={kind.name}"
    try:
        obj, faults = registry.decode(kind, config, "Warn")
    except Undecodable as error:
        raise internal(f"failed to create typed patch object ({what}): {error.why}", "") from None
    if faults:
        path = faults[0].partition('"')[2].rstrip('"')
        why = f".{path}: field not declared in schema"
        raise internal(f"failed to create typed patch object ({what}): {why}", "")
    return obj
