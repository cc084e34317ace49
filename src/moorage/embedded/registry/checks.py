"""What makes an object invalid (422), by kind; and what an update of it may not change. Pure.

Called by the registry, after defaults and admission.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from moorage.core.kinds import Json
from moorage.embedded.refusal import Fault
from moorage.embedded.registry.access_checks import (
    check_aggregation,
    check_binding,
    check_network_policy,
    check_rules,
    check_selector,
)
from moorage.embedded.registry.amounts import amount_of
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.limit_checks import check_limits, check_quota_spec
from moorage.embedded.registry.meta import (
    bad,
    check_key,
    check_label,
    check_metadata,
    check_subdomain,
    forbidden_field,
    quoted,
    required,
    unsupported,
)
from moorage.embedded.registry.pod_checks import check_pod_spec

_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_CONFIG_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_HIGHEST_PRIORITY = 1_000_000_000
_DATA_LIMIT = 1024 * 1024
POD_UPDATES = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)
_CLAIM_UPDATES = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)


def check(kind: Kind, obj: Json) -> list[Fault]:
    """All faults of a complete object."""
    return [*check_metadata(kind, obj["metadata"]), *_by_kind(kind.name, obj)]


def _by_kind(kind: str, obj: Json) -> Iterable[Fault]:
    match kind:
        case "Pod":
            yield from check_pod_spec(obj["spec"], "spec")
        case "PodTemplate":
            yield from check_pod_spec(obj["template"]["spec"], "template.spec")
        case "ConfigMap" | "Secret":
            yield from _data(kind, obj)
        case "PersistentVolumeClaim":
            yield from _claim(obj["spec"])
        case "StorageClass":
            yield from _storage_class(obj)
        case "RuntimeClass":
            yield from check_label("handler", obj.get("handler") or "")
        case "ResourceQuota":
            yield from check_quota_spec(obj["spec"])
        case "LimitRange":
            for at, item in enumerate(obj["spec"].get("limits") or ()):
                yield from check_limits(item, f"spec.limits[{at}]")
        case "Role" | "ClusterRole":
            yield from check_rules(obj.get("rules") or (), namespaced=kind == "Role")
            if obj.get("aggregationRule") is not None:
                yield from check_aggregation(obj["aggregationRule"])
        case "RoleBinding" | "ClusterRoleBinding":
            yield from check_binding(kind, obj)
        case "NetworkPolicy":
            yield from check_network_policy(obj["spec"])
        case "PriorityClass":
            yield from _priority_class(obj)
        case "Event":
            yield from _event(obj)
        case "Lease":
            yield from _lease(obj.get("spec") or {})


def _data(kind: str, obj: Json) -> Iterable[Fault]:
    size = 0
    for part in ("data", "binaryData"):
        for name, value in (obj.get(part) or {}).items():
            size += len(value)
            if not _CONFIG_KEY.fullmatch(name):
                yield bad(f"{part}[{name}]", name, _CONFIG_TEXT)
            elif name in (".", "..") or name.startswith(".."):
                why = f"must not be '{name}'" if name in (".", "..") else "must not start with '..'"
                yield bad(f"{part}[{name}]", name, why)
            if part == "data" and name in (obj.get("binaryData") or {}):
                yield bad(f"data[{name}]", name, "duplicate of key present in binaryData")
    if kind == "Secret":
        size = size * 3 // 4
    if size > _DATA_LIMIT:
        field = "data" if kind == "Secret" else ""
        yield Fault(field, "TooLong", f"Too long: may not be more than {_DATA_LIMIT} bytes")
    elif kind == "Secret":
        yield from _secret_type(obj.get("type") or "", obj.get("data") or {})


def _secret_type(kind: str, data: Json) -> Iterable[Fault]:
    for name in _SECRET_KEYS.get(kind, ()):
        if name not in data:
            yield required(f"data[{name}]")
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        yield required("data[username]")
        yield required("data[password]")


def _claim(spec: Json) -> Iterable[Fault]:
    modes = spec.get("accessModes") or []
    if not modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in _MODES:
            yield unsupported("spec.accessModes", mode, _MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield forbidden_field("spec.accessModes", "may not use ReadWriteOncePod with other access modes")
    if spec.get("selector") is not None:
        yield from check_selector(spec["selector"], "spec.selector")
    amount = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if amount is None:
        yield required("spec.resources[storage]")
    elif amount_of(amount) <= 0:
        yield bad("spec.resources[storage]", amount, "must be greater than zero")
    if spec.get("storageClassName"):
        yield from check_subdomain("spec.storageClassName", spec["storageClassName"])
    if spec["volumeMode"] not in ("Block", "Filesystem"):
        yield unsupported("spec.volumeMode", spec["volumeMode"], ("Block", "Filesystem"))


def _storage_class(obj: Json) -> Iterable[Fault]:
    if not obj.get("provisioner"):
        yield required("provisioner")
    else:
        yield from check_key("provisioner", obj["provisioner"].lower())
    if obj["volumeBindingMode"] not in ("Immediate", "WaitForFirstConsumer"):
        allowed = ("Immediate", "WaitForFirstConsumer")
        yield unsupported("volumeBindingMode", obj["volumeBindingMode"], allowed)
    if obj["reclaimPolicy"] not in ("Delete", "Retain"):
        yield unsupported("reclaimPolicy", obj["reclaimPolicy"], ("Delete", "Retain"))


def _priority_class(obj: Json) -> Iterable[Fault]:
    if obj["value"] > _HIGHEST_PRIORITY and not obj["metadata"].get("name", "").startswith("system-"):
        why = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        yield forbidden_field("value", why)
    if obj["preemptionPolicy"] not in ("PreemptLowerPriority", "Never"):
        yield unsupported("preemptionPolicy", obj["preemptionPolicy"], ("PreemptLowerPriority", "Never"))


def _event(obj: Json) -> Iterable[Fault]:
    about = obj.get("involvedObject") or {}
    if about.get("namespace", "") != obj["metadata"].get("namespace", "") and not (
        about.get("namespace", "") == "" and obj["metadata"].get("namespace") == "default"
    ):
        yield bad("involvedObject.namespace", about.get("namespace", ""), "does not match event.namespace")
    if obj.get("eventTime") is None:
        return
    for name in ("reportingComponent", "reportingInstance", "action", "reason"):
        if not obj.get(name):
            yield required(name)
        if name == "reportingComponent":
            yield from check_key(name, obj.get(name) or "")
    if obj.get("type") not in ("Normal", "Warning"):
        yield bad("type", obj.get("type") or "", "has invalid value: ")


def _lease(spec: Json) -> Iterable[Fault]:
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        yield bad("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield bad("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def check_update(kind: Kind, old: Json, new: Json) -> list[Fault]:
    """What of an update is not allowed although the object itself would be."""
    match kind.name:
        case "Pod":
            return _pod_update(old["spec"], new["spec"])
        case "PersistentVolumeClaim":
            return _claim_update(old, new)
        case "Secret" | "ConfigMap":
            return list(_data_update(kind.name, old, new))
        case "StorageClass":
            fields = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")
            return [_frozen(f, new.get(f)) for f in fields if new.get(f) != old.get(f)]
        case "PriorityClass":
            fixed, why = ("value", "preemptionPolicy"), "may not be changed in an update."
            return [forbidden_field(f, why) for f in fixed if new.get(f) != old.get(f)]
        case "RuntimeClass":
            changed = new.get("handler") != old.get("handler")
            return [_frozen("handler", new.get("handler"))] if changed else []
        case "RoleBinding" | "ClusterRoleBinding":
            changed = new.get("roleRef") != old.get("roleRef")
            return [bad("roleRef", new.get("roleRef"), "cannot change roleRef")] if changed else []
    return []


def _frozen(field: str, value: object) -> Fault:
    return bad(field, value, "field is immutable")


def _pod_update(old: Json, new: Json) -> list[Fault]:
    faults: list[Fault] = []
    for part in ("containers", "initContainers"):
        if len(old.get(part) or ()) != len(new.get(part) or ()):
            what = "containers" if part == "containers" else "initContainers"
            faults.append(forbidden_field(f"spec.{part}", f"pod updates may not add or remove {what}"))
            return faults
    kept = [t for t in old.get("tolerations") or () if t in (new.get("tolerations") or ())]
    if len(kept) != len(old.get("tolerations") or ()):
        why = "existing toleration can not be modified except its tolerationSeconds"
        faults.append(forbidden_field("spec.tolerations", why))
    if _fixed(old) != _fixed(new):
        faults.append(forbidden_field("spec", POD_UPDATES))
    return faults


def _fixed(spec: Json) -> Json:
    """What of a PodSpec may never change."""
    free = ("activeDeadlineSeconds", "tolerations", "containers", "initContainers", "schedulingGates")
    rest = {name: value for name, value in spec.items() if name not in free}
    for part in ("containers", "initContainers"):
        rest[part] = [{k: v for k, v in c.items() if k != "image"} for c in spec.get(part) or ()]
    return rest


def _claim_update(old: Json, new: Json) -> list[Fault]:
    before, after = old["spec"], new["spec"]
    free = {"resources", "volumeAttributesClassName"}
    if not before.get("volumeName"):
        free |= {"volumeName"}
        if "storageClassName" not in before:
            free |= {"storageClassName"}
    if {k: v for k, v in before.items() if k not in free} != {
        k: v for k, v in after.items() if k not in free
    }:
        return [forbidden_field("spec", _CLAIM_UPDATES)]
    was = before["resources"]["requests"].get("storage")
    now = after["resources"]["requests"].get("storage")
    if amount_of(now) < amount_of(was):
        return [
            forbidden_field("spec.resources.requests.storage", "field can not be less than status.capacity")
        ]
    if amount_of(now) > amount_of(was) and (old.get("status") or {}).get("phase") != "Bound":
        return [forbidden_field("spec", _CLAIM_UPDATES)]
    return []


def _data_update(kind: str, old: Json, new: Json) -> Iterable[Fault]:
    if kind == "Secret" and old.get("type") != new.get("type"):
        yield bad("type", new.get("type"), "field is immutable")
    if old.get("immutable"):
        why = "field is immutable when `immutable` is set"
        if not new.get("immutable"):
            yield forbidden_field("immutable", why)
        for part in ("data", "binaryData"):
            if old.get(part) != new.get(part):
                yield forbidden_field(part, why)


def check_name_fits(name_on_url: str, obj: Json) -> str:
    """The text of a refusal when a body names another object than the URL; "" when it fits."""
    given = obj.get("metadata", {}).get("name")
    if given and given != name_on_url:
        return f"the name of the object ({given}) does not match the name on the URL ({name_on_url})"
    return ""


__all__ = ["POD_UPDATES", "check", "check_name_fits", "check_update", "quoted"]
