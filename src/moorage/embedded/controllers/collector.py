"""The garbage collector: an object whose owners are all gone is deleted; foreground and orphan deletion.

An owner that never existed counts as gone, as in Kubernetes: the reference names a UID that nobody has.
"""

from __future__ import annotations

import contextlib

from moorage.core.errors import ApiError
from moorage.core.kinds import Json
from moorage.embedded.registry.deletion import FOREGROUND, ORPHAN
from moorage.embedded.registry.kinds import Kind, Kinds
from moorage.embedded.seam import Objects
from moorage.embedded.storage.store import Change, Store


class Collector:
    """The controller."""

    def __init__(self, store: Store, kinds: Kinds, objects: Objects) -> None:
        self._store, self._kinds, self._objects = store, kinds, objects

    def wants(self, resource: str, change: Change) -> bool:
        metadata = change.obj["metadata"]
        leaving = change.type == "DELETED" or metadata.get("deletionTimestamp")
        return bool(leaving or metadata.get("ownerReferences"))

    def reconcile(self) -> None:
        """One pass over everything."""
        everything = [(kind, obj) for kind in self._kinds.stored() for obj in self._store.items(kind.key)]
        living = {obj["metadata"]["uid"]: obj for _, obj in everything}
        dependants: dict[str, list[tuple[Kind, Json]]] = {}
        for kind, obj in everything:
            for owner in obj["metadata"].get("ownerReferences") or ():
                dependants.setdefault(owner.get("uid", ""), []).append((kind, obj))
        for kind, obj in everything:
            self._as_owner(kind, obj, dependants.get(obj["metadata"]["uid"], []))
        for kind, obj in everything:
            self._as_dependant(kind, obj, living)

    def _as_owner(self, kind: Kind, obj: Json, dependants: list[tuple[Kind, Json]]) -> None:
        metadata = obj["metadata"]
        finalizers = metadata.get("finalizers") or ()
        if not metadata.get("deletionTimestamp"):
            return
        if ORPHAN in finalizers:
            for other_kind, other in dependants:
                self._let_go(other_kind, other, metadata["uid"])
            self._drop(kind, obj, ORPHAN)
        elif FOREGROUND in finalizers:
            blocking = []
            for other_kind, other in dependants:
                self._delete(other_kind, other)
                if _blocks(other, metadata["uid"]):
                    blocking.append(other)
            if not blocking:
                self._drop(kind, obj, FOREGROUND)

    def _as_dependant(self, kind: Kind, obj: Json, living: dict[str, Json]) -> None:
        owners = obj["metadata"].get("ownerReferences") or ()
        if owners and not obj["metadata"].get("deletionTimestamp"):
            gone = [owner for owner in owners if owner.get("uid") not in living]
            if len(gone) == len(owners):
                self._delete(kind, obj)

    def _delete(self, kind: Kind, obj: Json) -> None:
        metadata = obj["metadata"]
        if not metadata.get("deletionTimestamp"):
            with contextlib.suppress(ApiError):
                self._objects.delete(
                    kind.resource, metadata.get("namespace", ""), metadata["name"], metadata["uid"]
                )

    def _let_go(self, kind: Kind, obj: Json, uid: str) -> None:
        owners = [o for o in obj["metadata"].get("ownerReferences") or () if o.get("uid") != uid]
        metadata = {**obj["metadata"], "ownerReferences": owners}
        with contextlib.suppress(ApiError):
            self._objects.update(kind.resource, {**obj, "metadata": metadata})

    def _drop(self, kind: Kind, obj: Json, finalizer: str) -> None:
        left = [name for name in obj["metadata"].get("finalizers") or () if name != finalizer]
        with contextlib.suppress(ApiError):
            self._objects.update(kind.resource, {**obj, "metadata": {**obj["metadata"], "finalizers": left}})


def _blocks(obj: Json, uid: str) -> bool:
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == uid and owner.get("blockOwnerDeletion") for owner in owners)
