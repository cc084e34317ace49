"""What makes an object invalid (422), by kind; and what an update of it may not change. Pure.

Called by the registry, after defaults and admission.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from moorage.core.kinds import Json
from moorage.embedded.refusal import Fault
from moorage.embedded.registry.amounts import amount_of
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.meta import (
    bad,
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
            for name, amount in (obj["spec"].get("hard") or {}).items():
                if amount_of(amount) < 0:
                    yield bad(f"spec.hard[{name}]", amount, "must be greater than or equal to 0")
        case "Role" | "ClusterRole":
            for at, rule in enumerate(obj.get("rules") or ()):
                if not rule.get("verbs"):
                    yield required(f"rules[{at}].verbs", "verbs must contain at least one value")
        case "Lease":
            seconds = (obj.get("spec") or {}).get("leaseDurationSeconds")
            if seconds is not None and seconds <= 0:
                yield bad("spec.leaseDurationSeconds", seconds, "must be greater than 0")


def _data(kind: str, obj: Json) -> Iterable[Fault]:
    size = 0
    for part in ("data", "binaryData"):
        for name, value in (obj.get(part) or {}).items():
            size += len(value)
            if not _CONFIG_KEY.fullmatch(name):
                yield bad(f"{part}[{name}]", name, _CONFIG_TEXT)
    if kind == "Secret":
        size = size * 3 // 4
    if size > _DATA_LIMIT:
        field = "data" if kind == "Secret" else ""
        yield Fault(field, "TooLong", f"Too long: may not be more than {_DATA_LIMIT} bytes")


def _claim(spec: Json) -> Iterable[Fault]:
    modes = spec.get("accessModes") or []
    if not modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in _MODES:
            yield unsupported("spec.accessModes", mode, _MODES)
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
    if obj["volumeBindingMode"] not in ("Immediate", "WaitForFirstConsumer"):
        allowed = ("Immediate", "WaitForFirstConsumer")
        yield unsupported("volumeBindingMode", obj["volumeBindingMode"], allowed)
    if obj["reclaimPolicy"] not in ("Delete", "Retain"):
        yield unsupported("reclaimPolicy", obj["reclaimPolicy"], ("Delete", "Retain"))


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
