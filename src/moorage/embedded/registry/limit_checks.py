"""What makes ResourceQuotas and LimitRanges invalid, in the server's words. Pure.

Called by ``checks``, after defaults.
"""

from __future__ import annotations

from collections.abc import Iterable

from moorage.core.kinds import Json
from moorage.embedded.refusal import Fault
from moorage.embedded.registry.amounts import amount_of
from moorage.embedded.registry.meta import bad, check_key, forbidden_field

_COUNTED = frozenset(
    {
        "pods",
        "services",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "replicationcontrollers",
        "resourcequotas",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_COMPUTE = frozenset(
    prefix + name
    for prefix in ("", "requests.", "limits.")
    for name in ("cpu", "memory", "ephemeral-storage")
) | {"requests.storage", "storage"}
_SCOPES = frozenset(
    {
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    }
)


_WORDS = {"min": "min", "max": "max", "default": "default", "defaultRequest": "default request"}
# Which must not be greater than which, the field that is told of, and whose value is shown.
_ORDERS = (
    ("min", "max", "min", "min"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest"),
    ("min", "default", "default", "min"),
    ("default", "max", "default", "max"),
)


def check_quota_spec(spec: Json) -> Iterable[Fault]:
    """The spec of a ResourceQuota."""
    for name, amount in (spec.get("hard") or {}).items():
        where = f"spec.hard[{name}]"
        if name not in _COUNTED | _COMPUTE and "/" not in name and "hugepages-" not in name:
            yield bad(where, name, "must be a standard resource type or fully qualified")
            yield bad(where, name, "must be a standard resource for quota")
        if amount_of(amount) < 0:
            yield bad(where, amount, "must be greater than or equal to 0")
        if name in _COUNTED and amount_of(amount).denominator != 1:
            yield bad(where, amount, "must be an integer")
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            yield bad("spec.scopes", scopes, "unsupported scope")


def check_limits(item: Json, where: str) -> Iterable[Fault]:
    """One item of a LimitRange."""
    kind = item.get("type") or ""
    yield from check_key(f"{where}.type", kind)
    if kind and kind not in ("Container", "Pod", "PersistentVolumeClaim") and "/" not in kind:
        yield bad(f"{where}.type", kind, "must be a standard limit type or fully qualified")
    if kind == "Pod":
        for name in ("default", "defaultRequest"):
            if item.get(name):
                yield forbidden_field(f"{where}.{name}", "may not be specified when `type` is 'Pod'")
    names = {name for part in ("min", "max", "default", "defaultRequest") for name in item.get(part) or ()}
    for name in sorted(names):
        yield from _order(item, name, where)


def _order(item: Json, name: str, where: str) -> Iterable[Fault]:
    """A limit's amounts of one resource against each other."""
    found = {part: item[part][name] for part in _WORDS if name in (item.get(part) or {})}
    for low, high, field, shown in _ORDERS:
        if low in found and high in found and amount_of(found[low]) > amount_of(found[high]):
            why = f"{_WORDS[low]} value {found[low]} is greater than {_WORDS[high]} value {found[high]}"
            yield bad(f"{where}.{field}[{name}]", found[shown], why)
