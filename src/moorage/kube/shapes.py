"""Is this JSON an object of the resource that was asked for? Used by ``kube.client`` and ``kube.reflector``.

Pure. An API server never sends anything else, but something in front of it may; everything behind this
check may then read the fields below without asking for their types. Unknown fields are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from moorage.core.kinds import Json, Resource
from moorage.kube.answers import misshapen

# str, int: the value; dict: these fields of a mapping, each of which may be missing or null; [x]: a list of
# such values; {"*": x}: a mapping of any keys to such values. Field names are those of the Kubernetes API.
_Shape: TypeAlias = Any

_TEXTS: _Shape = {"*": str}
_ENDED: _Shape = {"exitCode": int, "signal": int, "reason": str, "message": str}
_STATE: _Shape = {"waiting": {"reason": str, "message": str}, "running": {}, "terminated": _ENDED}
_STATUSES: _Shape = [{"name": str, "restartCount": int, "state": _STATE, "lastState": _STATE}]
_CONTAINERS: _Shape = [
    {
        "name": str,
        "image": str,
        "command": [str],
        "args": [str],
        "volumeMounts": [{"name": str, "mountPath": str}],
        "volumeDevices": [{}],
        "env": [{"name": str, "valueFrom": {"fieldRef": {}}}],
        "ports": [{}],
        "resources": {},
    }
]
_SELECTORS: _Shape = {"namespaceSelector": {"matchLabels": {}}, "objectSelector": {"matchLabels": {}}}
_METADATA: _Shape = {
    "name": str,
    "namespace": str,
    "uid": str,
    "resourceVersion": str,
    "creationTimestamp": str,
    "deletionTimestamp": str,
    "deletionGracePeriodSeconds": int,
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "finalizers": [str],
    "ownerReferences": [{}],
}
_SPEC: _Shape = {
    "nodeName": str,
    "storageClassName": str,
    "containers": _CONTAINERS,
    "initContainers": _CONTAINERS,
    "volumes": [{"name": str, "persistentVolumeClaim": {"claimName": str}}],
    "nodeSelector": _TEXTS,
    "accessModes": [str],
    "resources": {"requests": {}},
    "schedulingGates": [{}],
    "matchConstraints": {**_SELECTORS, "resourceRules": [{}]},
}
_STATUS: _Shape = {
    "phase": str,
    "nodeInfo": {"architecture": str},
    "reason": str,
    "message": str,
    "conditions": [{"type": str, "status": str}],
    "containerStatuses": _STATUSES,
    "initContainerStatuses": _STATUSES,
    "ephemeralContainerStatuses": _STATUSES,
}
_OBJECT: _Shape = {"apiVersion": str, "kind": str, "metadata": _METADATA, "spec": _SPEC, "status": _STATUS}
_OF_KIND: dict[str, _Shape] = {
    "Event": {"involvedObject": {}, "series": {}, "source": {}, "reason": str, "message": str, "count": int},
    "MutatingWebhookConfiguration": {"webhooks": [{**_SELECTORS, "rules": [{}]}]},
    "SelfSubjectReview": {"status": {"userInfo": {}}},
}
_LIST: _Shape = {"metadata": {"continue": str, "resourceVersion": str}, "items": [{}]}


def checked(value: Json, resource: Resource, *, name: str = "", uid: bool = True) -> Json:
    """``value``, when it is an object of ``resource``. ``name``: the one it must have; "" for objects
    without one, such as reviews. Raises ApiError (kind ``http``)."""
    fault = _fault(value, _OBJECT, "") or _fault(value, _OF_KIND.get(resource.kind, {}), "")
    if not fault and value.get("kind") not in (None, "", resource.kind):
        fault = "kind"
    metadata = value.get("metadata") or {}
    if not fault and name:
        if metadata.get("name") != name:
            fault = "metadata.name"
        elif uid and not metadata.get("uid"):
            fault = "metadata.uid"
    if fault:
        raise misshapen(resource.kind, fault)
    return value


def checked_item(value: Json, resource: Resource) -> Json:
    """As ``checked``, for an item of a list or watch: it has some name. Nothing is deleted by what a list
    says, so its UID is not insisted on."""
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise misshapen(resource.kind, "metadata.name")
    return checked(value, resource, name=name, uid=False)


def items_of(answer: Json, resource: Resource) -> Iterable[Json]:
    """The items of one page, each of them checked; its ``metadata`` is a mapping or missing."""
    fault = _fault(answer, _LIST, "")
    if fault:
        raise misshapen(f"list of {resource.plural}", fault)
    return [checked_item(item, resource) for item in answer.get("items") or ()]


def names_served(answer: Json) -> frozenset[str]:
    """The names of an APIResourceList, subresources as ``pods/exec``."""
    fault = _fault(answer, {"resources": [{"name": str}]}, "")
    if fault or answer.get("kind") != "APIResourceList":
        raise misshapen("APIResourceList", fault or "kind")
    return frozenset(str(entry.get("name", "")) for entry in answer.get("resources") or ())


def bookmark(value: Json, resource: Resource) -> Json:
    """A bookmark of a watch: metadata only."""
    fault = _fault(value, {"metadata": _METADATA}, "")
    if fault:
        raise misshapen(resource.kind, fault)
    return value


def _fault(value: object, shape: _Shape, path: str) -> str:
    """The path of the first value of another type; "" when there is none."""
    if isinstance(shape, type):
        fits = isinstance(value, shape) and not isinstance(value, bool)
        return "" if fits else path
    if isinstance(shape, list):
        if not isinstance(value, list):
            return path
        found = (_fault(inner, shape[0], f"{path}[{index}]") for index, inner in enumerate(value))
        return next((fault for fault in found if fault), "")
    if not isinstance(value, dict):
        return path or "object"
    if "*" in shape:
        pairs = [(key, inner, shape["*"]) for key, inner in value.items()]
    else:
        pairs = [(key, value[key], inner) for key, inner in shape.items() if value.get(key) is not None]
    faults = (_fault(inner, wanted, f"{path}.{key}".lstrip(".")) for key, inner, wanted in pairs)
    return next((fault for fault in faults if fault), "")
