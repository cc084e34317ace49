"""Custom resource definitions: their kinds are served while they exist, and their objects go with them."""

from __future__ import annotations

import contextlib

from moorage.core.errors import ApiError
from moorage.core.kinds import Json, Resource
from moorage.embedded.registry.kinds import DEFINITIONS, Kind, key
from moorage.embedded.registry.registry import Registry
from moorage.embedded.seam import Objects
from moorage.embedded.storage.store import Change


class Definitions:
    """The controller."""

    def __init__(self, registry: Registry, objects: Objects) -> None:
        self._registry, self._objects = registry, objects
        self._served: dict[str, Json] = {}

    def wants(self, resource: str, change: Change) -> bool:
        return resource == key(DEFINITIONS)

    def reconcile(self) -> None:
        """One pass over all definitions."""
        found = {obj["metadata"]["name"]: obj for obj in self._objects.list(DEFINITIONS)}
        for name, definition in found.items():
            serve(self._registry, definition, new=name not in self._served)
            self._served[name] = definition["spec"]
            if not _established(definition):
                self._objects.update_status(DEFINITIONS, {**definition, "status": self._status(definition)})
        for name in self._served.keys() - found.keys():
            self._withdraw(self._served.pop(name))

    def _status(self, definition: Json) -> Json:
        spec, now = definition["spec"], self._registry.time()
        words = (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": now, "reason": why, "message": text}
            for kind, why, text in words
        ]
        stored = [version["name"] for version in spec["versions"] if version.get("storage")]
        return {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored}

    def _withdraw(self, spec: Json) -> None:
        group, plural = spec["group"], spec["names"]["plural"]
        for kind in list(self._registry.kinds):
            if (kind.resource.group, kind.resource.plural) == (group, plural):
                for obj in self._objects.list(kind.resource):
                    metadata = obj["metadata"]
                    with contextlib.suppress(ApiError):
                        self._objects.delete(
                            kind.resource, metadata.get("namespace", ""), metadata["name"], metadata["uid"]
                        )
        self._registry.kinds.discard(group, plural)


def serve(registry: Registry, definition: Json, *, new: bool) -> None:
    """Serve every version of a definition. ``new``: of its objects nothing older can be asked for."""
    spec = definition["spec"]
    names, kinds = spec["names"], registry.kinds
    for version in spec.get("versions") or ():
        namespaced = spec.get("scope") == "Namespaced"
        resource = Resource(spec["group"], version["name"], names["plural"], names["kind"], namespaced)
        if version.get("served") and kinds.find(resource.group, resource.version, resource.plural) is None:
            kinds.add(custom(resource, definition, version))
            if new and not registry.store.items(key(resource)):
                registry.store.introduce(key(resource))


def custom(resource: Resource, definition: Json, version: Json) -> Kind:
    """The row of a custom kind."""
    names = definition["spec"]["names"]
    return Kind(
        resource,
        names.get("singular") or resource.kind.lower(),
        tuple(names.get("shortNames") or ()),
        status="status" in (version.get("subresources") or {}),
        generation=True,
        custom=True,
    )


def _established(definition: Json) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions)
