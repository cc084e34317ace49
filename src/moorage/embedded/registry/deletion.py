"""Deletes: preconditions, graceful deletion of Pods, finalizers, and what is answered.

Called by ``embedded.api`` and ``embedded.objects``. What depends on a deleted object is the collector's.
"""

from __future__ import annotations

from typing import NamedTuple

from moorage.core.kinds import Json
from moorage.embedded.refusal import conflict, forbidden
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.registry import Registry
from moorage.embedded.registry.write import DeleteOptions
from moorage.embedded.storage.store import Key, copy

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_PROTECTED = frozenset({"default", "kube-system", "kube-public"})
# Kinds whose deletion is answered with the object, not with a Status.
_RETURNED = frozenset(
    {
        "Pod",
        "PersistentVolumeClaim",
        "PersistentVolume",
        "ResourceQuota",
        "ServiceAccount",
        "PodTemplate",
        "Service",
        "StorageClass",
    }
)


class Deleted(NamedTuple):
    """What a delete did: the object as it is (or last was), and whether it is gone."""

    obj: Json
    gone: bool


def delete(registry: Registry, kind: Kind, at: Key, options: DeleteOptions) -> Deleted:
    """Delete, or begin to. Raises Refusal 404, 409 (a precondition), 403 (a namespace that must stay)."""
    old = registry.get(kind, *at)
    _check_preconditions(kind, old, options)
    if kind.name == "Namespace" and at[1] in _PROTECTED:
        raise forbidden(kind.resource, at[1], "this namespace may not be deleted")
    new = copy(old)
    grace = _grace(kind, old, options)
    if kind.name != "Event":  # nothing can depend on one
        _add_finalizer(new["metadata"], options.propagation)
    changed = _mark(registry, new["metadata"], grace)
    if kind.generation and changed and kind.name == "Pod":
        new["metadata"]["generation"] = new["metadata"].get("generation", 1) + 1
    if kind.name == "Namespace":
        new.setdefault("status", {})["phase"] = "Terminating"
    stays = bool(grace or new["metadata"].get("finalizers") or _content_left(kind, new))
    if options.write.dry_run:
        return Deleted(new if stays else old, not stays)
    if not stays:
        last = new if changed and kind.name == "Pod" else None
        return Deleted(registry.store.remove(kind.key, at, last), True)
    if new == old:
        return Deleted(old, False)
    return Deleted(registry.store.put(kind.key, at, new), False)


def _check_preconditions(kind: Kind, old: Json, options: DeleteOptions) -> None:
    metadata = old["metadata"]
    name, uid, version = metadata["name"], metadata["uid"], metadata["resourceVersion"]
    if options.uid and options.uid != uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(kind.resource, name, why, kind=kind.name)
    if options.version and options.version != version:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the "
            f"ResourceVersion in record ({version}). The object might have been modified"
        )
        raise conflict(kind.resource, name, why, kind=kind.name)


def _grace(kind: Kind, old: Json, options: DeleteOptions) -> int:
    """Seconds the object may still live. Only Pods on a node have any."""
    if kind.name != "Pod":
        return 0
    spec, status = old.get("spec") or {}, old.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    wanted = options.grace if options.grace is not None else spec.get("terminationGracePeriodSeconds", 30)
    wanted = max(int(wanted), 0) if options.grace is None or options.grace >= 0 else 1
    left = old["metadata"].get("deletionGracePeriodSeconds")
    # A later delete can only shorten what an earlier one began.
    return wanted if left is None or not old["metadata"].get("deletionTimestamp") else min(left, wanted)


def _add_finalizer(metadata: Json, propagation: str) -> None:
    wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(propagation)
    if wanted and wanted not in (metadata.get("finalizers") or ()):
        metadata["finalizers"] = [*(metadata.get("finalizers") or ()), wanted]


def _mark(registry: Registry, metadata: Json, grace: int) -> bool:
    """Set the time of deletion; False when it is already set to that or sooner."""
    if metadata.get("deletionTimestamp") and metadata.get("deletionGracePeriodSeconds", 0) <= grace:
        return False
    metadata["deletionTimestamp"] = registry.time(grace)
    metadata["deletionGracePeriodSeconds"] = grace
    return True


def _content_left(kind: Kind, obj: Json) -> bool:
    """A namespace stays until its content is gone; the controller then takes the finalizer away."""
    return kind.name == "Namespace" and bool((obj.get("spec") or {}).get("finalizers"))


def answer(kind: Kind, deleted: Deleted) -> Json:
    """The body of the answer to a DELETE."""
    if not deleted.gone or kind.name in _RETURNED:
        return deleted.obj
    resource, metadata = kind.resource, deleted.obj["metadata"]
    details: Json = {"name": metadata["name"]}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": metadata["uid"]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
