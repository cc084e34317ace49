"""PATCH of one object: the right kind of patch on the newest state, then an update like any other.

Called by ``embedded.api``.
"""

from __future__ import annotations

from typing import Any

from moorage.core.kinds import Json
from moorage.embedded.patching import managed
from moorage.embedded.patching.plain import PatchFailed, json_patch, merge_patch
from moorage.embedded.patching.strategic import strategic_patch
from moorage.embedded.refusal import Fault, bad_request, invalid_options, rejected, unsupported_media
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.registry import Registry
from moorage.embedded.registry.write import Write
from moorage.embedded.storage.store import Key, copy

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def patched(kind: Kind, content_type: str, old: Json, patch: Any) -> Json:
    """``old`` with a patch in it. Raises Refusal 400, 415 or 422."""
    if content_type == JSON_PATCH:
        try:
            return json_patch(old, patch)
        except PatchFailed:
            raise rejected() from None
    if not isinstance(patch, dict):
        raise bad_request("json: cannot unmarshal array into Go value of type map[string]interface {}")
    if content_type == MERGE_PATCH:
        merged: Json = merge_patch(old, patch)
        return merged
    # A strategic merge needs to know the lists of the type, which the server only does for its own.
    if content_type == STRATEGIC_PATCH and not kind.custom:
        return strategic_patch(old, patch)
    raise unsupported_media()


def patch_object(
    registry: Registry,
    kind: Kind,
    at: Key,
    content_type: str,
    patch: Any,
    write: Write,
    subresource: str = "",
) -> tuple[Json, list[str]]:
    """Patch a stored object; the new state and warnings."""
    old = registry.get(kind, *at)
    new = patched(kind, content_type, copy(old), patch)
    asked = new.get("metadata", {}).get("resourceVersion") if isinstance(new.get("metadata"), dict) else None
    obj, warnings = registry.decode(kind, new, write.validation)
    if asked is None:
        obj["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    return registry.update(kind, at, obj, write, subresource), warnings


def applied(registry: Registry, kind: Kind, at: Key, config: Any, write: Write) -> tuple[Json, list[str]]:
    """Server-side apply of ``config`` to what is stored; the object to create or to store, and warnings.

    Where something is stored its version stands in the result. Raises Refusal 400, 409 or 422.
    """
    if not write.manager:
        why = "Required value: is required for apply patch"
        raise invalid_options("PatchOptions", Fault("fieldManager", "Required", why))
    if not isinstance(config, dict) or not config.get("kind") or not config.get("apiVersion"):
        raise bad_request("error decoding patch: Object 'Kind' is missing")
    if (config.get("metadata") or {}).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    obj, warnings = registry.decode(kind, config, write.validation)
    obj["metadata"].setdefault("name", at[1])
    if kind.resource.namespaced:
        obj["metadata"].setdefault("namespace", at[0])
    version = obj["metadata"].pop("resourceVersion", None)
    live = registry.store.get(kind.key, at)
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
    return made, warnings
