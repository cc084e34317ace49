"""Request bodies that need more than the object itself. Pure; called by ``kube.client``."""

from __future__ import annotations

from typing import Any

from moorage.core.errors import UsageError
from moorage.core.kinds import Json, Resource


def delete_options(uid: str, resource_version: str | None, grace_seconds: int | None) -> Json:
    """``DeleteOptions`` for exactly one object. Raises UsageError without a UID: it is not optional."""
    if not uid:
        raise UsageError("an object is only deleted by its UID", field="uid")
    preconditions = {"uid": uid}
    if resource_version is not None:
        preconditions["resourceVersion"] = resource_version
    options: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return options


def applied(resource: Resource, obj: Json) -> Json:
    """An object as server-side apply wants it: typed, without nulls, managedFields and server-set fields.

    A null would claim the field, and ``managedFields`` is refused.
    """
    body = _without_nulls(obj)
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        for field in ("managedFields", "creationTimestamp", "generation"):
            metadata.pop(field, None)
    return {**body, "apiVersion": resource.api_version, "kind": resource.kind}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value
