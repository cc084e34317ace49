"""How lists and maps of Kubernetes objects are merged: which items are the same, what is one whole.

Read by strategic merge and server-side apply. By the name of the field: in the kinds served here one name
means one thing, ``ports`` excepted, which is told by its items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moorage.core.kinds import Json

_KEYS: dict[str, tuple[str, ...]] = {
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "hostIPs": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "webhooks": ("name",),
}
SETS = frozenset({"finalizers"})
WHOLE = frozenset(
    {
        "claimRef",
        "configMapKeyRef",
        "dataSource",
        "fieldRef",
        "involvedObject",
        "labelSelector",
        "namespaceSelector",
        "nodeSelector",
        "nodeSelectorTerms",
        "objectSelector",
        "resourceFieldRef",
        "roleRef",
        "scopeSelector",
        "secretKeyRef",
        "selector",
        "tolerations",
    }
)
"""Maps and lists that have one owner as a whole."""


def keys_of(field: str, items: Sequence[Any]) -> tuple[str, ...]:
    """The fields that identify an item of the list ``field``; empty: the list is one whole."""
    if field == "ports":
        if any(isinstance(item, dict) and "containerPort" in item for item in items):
            return ("containerPort", "protocol")
        return ("port", "protocol") if items else ("containerPort", "protocol")
    return _KEYS.get(field, ())


def identity(item: Json, keys: tuple[str, ...]) -> Json:
    """The values that identify ``item``; a protocol left out is TCP, as it will be defaulted."""
    return {key: item.get(key, "TCP" if key == "protocol" else "") for key in keys}


def merge_key(field: str, items: Sequence[Any]) -> str:
    """The one key strategic merge uses, "" where the list is replaced."""
    keys = keys_of(field, items)
    return keys[0] if keys else ""
