"""ResourceQuotas: what a namespace uses, and whether one more object still fits.

Called by the registry before a create and by the quota controller for ``status.used``. Counts what is
stored, so it is never behind. Objects that are being deleted still count, ended Pods do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from moorage.core.kinds import CLAIMS, PODS, QUOTAS, Json
from moorage.embedded.refusal import forbidden
from moorage.embedded.registry.amounts import amount_of, decimal
from moorage.embedded.registry.kinds import Kind, key
from moorage.embedded.storage.store import Store

_COUNTED = ("pods", "persistentvolumeclaims", "configmaps", "secrets", "services", "resourcequotas")
_COMPUTE = {
    "cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    "ephemeral-storage": ("requests", "ephemeral-storage"),
    **{
        f"{part}.{name}": (part, name)
        for part in ("requests", "limits")
        for name in ("cpu", "memory", "ephemeral-storage")
    },
}


def usage(resource: str, obj: Json) -> dict[str, Fraction]:
    """What one object of ``resource`` (a store key) counts for, by the names a quota's ``hard`` has."""
    if resource == key(PODS) and (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    plural, _, group = resource.partition(".")
    found = {f"count/{plural}.{group}" if group else f"count/{plural}": Fraction(1)}
    if resource in _COUNTED:
        found[plural] = Fraction(1)
    if resource == key(PODS):
        for name, (part, amount) in _COMPUTE.items():
            found[name] = _pod_amount(obj["spec"], part, amount)
    if resource == key(CLAIMS):
        asked = amount_of(obj["spec"].get("resources", {}).get("requests", {}).get("storage"))
        found["requests.storage"] = asked
        class_name = obj["spec"].get("storageClassName")
        if class_name:
            prefix = f"{class_name}.storageclass.storage.k8s.io"
            found[f"{prefix}/requests.storage"] = asked
            found[f"{prefix}/persistentvolumeclaims"] = Fraction(1)
    return found


def _pod_amount(spec: Json, part: str, name: str) -> Fraction:
    def of(containers: Iterable[Json]) -> list[Fraction]:
        return [amount_of(((c.get("resources") or {}).get(part) or {}).get(name)) for c in containers]

    inits = spec.get("initContainers") or ()
    sidecars = [c for c in inits if c.get("restartPolicy") == "Always"]
    ordinary = sum(of(spec.get("containers") or ()), Fraction(0)) + sum(of(sidecars), Fraction(0))
    return max([ordinary, *of([c for c in inits if c.get("restartPolicy") != "Always"])])


def used(store: Store, namespace: str, names: Iterable[str]) -> dict[str, Fraction]:
    """What the namespace uses of each of ``names``."""
    total = dict.fromkeys(names, Fraction(0))
    for resource in {_resource_of(name) for name in total} - {""}:
        for obj in store.items(resource, namespace):
            for name, amount in usage(resource, obj).items():
                if name in total:
                    total[name] += amount
    return total


def _resource_of(name: str) -> str:
    if name.startswith("count/"):
        return name.removeprefix("count/")
    if name in _COMPUTE:
        return key(PODS)
    if name.endswith(("requests.storage", "/persistentvolumeclaims")):
        return key(CLAIMS)
    return name if name in _COUNTED else ""


def check_quota(store: Store, kind: Kind, obj: Json) -> None:
    """Raises Refusal 403 when ``obj``, about to be created, does not fit in a quota of its namespace."""
    namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
    asked = usage(kind.key, obj)
    for quota in store.items(key(QUOTAS), namespace) if namespace else ():
        hard = {name: amount_of(text) for name, text in (quota["spec"].get("hard") or {}).items()}
        touched = [entry for entry in hard if entry in asked]
        quota_name = quota["metadata"]["name"]
        missing = _unspecified(kind, obj, touched)
        if missing:
            raise forbidden(kind.resource, name, f"failed quota: {quota_name}: must specify {missing}")
        now = used(store, namespace, touched)
        over = sorted(entry for entry in touched if asked[entry] and now[entry] + asked[entry] > hard[entry])
        if over:
            told = (
                f"exceeded quota: {quota_name}, requested: {_amounts(asked, over)}, "
                f"used: {_amounts(now, over)}, limited: {_amounts(hard, over)}"
            )
            raise forbidden(kind.resource, name, told)


def _unspecified(kind: Kind, obj: Json, touched: list[str]) -> str:
    """Containers that must say how much they want, because the quota counts it."""
    if kind.key != key(PODS):
        return ""
    found = {}
    for entry in sorted(touched):
        if entry in _COMPUTE:
            part, name = _COMPUTE[entry]
            silent = [
                c["name"]
                for c in obj["spec"].get("containers") or ()
                if name not in ((c.get("resources") or {}).get(part) or {})
            ]
            if silent:
                found[entry] = silent
    return "; ".join(f"{entry} for: {','.join(names)}" for entry, names in found.items())


def _amounts(values: dict[str, Fraction], names: list[str]) -> str:
    return ",".join(f"{name}={shown(name, values[name])}" for name in names)


def shown(name: str, amount: Fraction) -> str:
    """An amount as a quota's status shows it: bytes in powers of 1024 where they come out even."""
    if name.endswith(("memory", "storage")) and amount.denominator == 1 and amount % 1024 == 0 and amount:
        number, units = amount.numerator, ["", "Ki", "Mi", "Gi", "Ti", "Pi"]
        unit = 0
        while number % 1024 == 0 and unit < len(units) - 1:
            number, unit = number // 1024, unit + 1
        return f"{number}{units[unit]}"
    return decimal(amount)
