"""Namespaces: what each new one gets, and how one that is being deleted becomes empty and then goes."""

from __future__ import annotations

import contextlib

from moorage.core.errors import ApiError
from moorage.core.kinds import CONFIG_MAPS, NAMESPACES, PODS, SERVICE_ACCOUNTS, Json
from moorage.embedded.api.writes import finalize
from moorage.embedded.registry.kinds import Kind, key
from moorage.embedded.registry.registry import Registry
from moorage.embedded.seam import Objects
from moorage.embedded.storage.store import Change

ROOT_CA = "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
    "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions "
    "of Kubernetes clusters."
)


class Namespaces:
    """The controller; ``authority`` is the CA in PEM that clients verify this API by."""

    def __init__(self, registry: Registry, objects: Objects, authority: str) -> None:
        self._registry, self._objects, self._authority = registry, objects, authority

    def wants(self, resource: str, change: Change) -> bool:
        return resource == key(NAMESPACES) or change.type == "DELETED"

    def reconcile(self) -> None:
        """One pass over all namespaces."""
        for namespace in self._objects.list(NAMESPACES):
            if namespace["metadata"].get("deletionTimestamp"):
                self._empty(namespace)
            else:
                self.furnish(namespace["metadata"]["name"])

    def furnish(self, name: str) -> None:
        """The default ServiceAccount and the CA bundle."""
        if self._objects.get(SERVICE_ACCOUNTS, name, "default") is None:
            self._objects.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": name}})
        found = self._objects.get(CONFIG_MAPS, name, ROOT_CA)
        data = {"ca.crt": self._authority}
        if found is None:
            notes = {"kubernetes.io/description": _DESCRIPTION}
            metadata = {"name": ROOT_CA, "namespace": name, "annotations": notes}
            self._objects.create(CONFIG_MAPS, {"metadata": metadata, "data": data})
        elif found.get("data") != data:
            self._objects.update(CONFIG_MAPS, {**found, "data": data})

    def _empty(self, namespace: Json) -> None:
        name = namespace["metadata"]["name"]
        kinds = [kind for kind in self._registry.kinds.stored() if kind.resource.namespaced]
        # Pods first: claims and secrets stay until nothing uses them.
        kinds.sort(key=lambda kind: kind.resource != PODS)
        left = False
        for kind in kinds:
            for obj in self._objects.list(kind.resource, name):
                left = True
                metadata = obj["metadata"]
                if not metadata.get("deletionTimestamp"):
                    with contextlib.suppress(ApiError):
                        self._objects.delete(kind.resource, name, metadata["name"], metadata["uid"])
        if not left or not self._anything(kinds, name):
            finalize(self._registry, self._registry.kinds.of(NAMESPACES), name, [])

    def _anything(self, kinds: list[Kind], name: str) -> bool:
        return any(self._objects.list(kind.resource, name) for kind in kinds)
