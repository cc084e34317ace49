"""What built-in admission adds to Pods, claims and volumes before anything is checked.

Called by the registry for each create. Reads the store; changes only the object it is given. The same
plugins run in a kube-apiserver by default: ServiceAccount, Priority, RuntimeClass, DefaultTolerationSeconds,
LimitRanger, DefaultStorageClass, StorageObjectInUseProtection.
"""

from __future__ import annotations

import secrets

from moorage.core.kinds import PODS, RUNTIME_CLASSES, SERVICE_ACCOUNTS, STORAGE_CLASSES, Json
from moorage.embedded.refusal import forbidden
from moorage.embedded.registry.defaults import every_container
from moorage.embedded.registry.kinds import LIMIT_RANGES, PRIORITY_CLASSES, Kind, key
from moorage.embedded.storage.store import Store

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"


def suffix() -> str:
    """Five characters, as the server appends to ``generateName``."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(5))


def admit(store: Store, kind: Kind, obj: Json) -> None:
    """Change ``obj``, about to be created. Raises Refusal 403."""
    match kind.name:
        case "Pod":
            namespace = obj["metadata"]["namespace"]
            _limit_ranges(store, namespace, obj["spec"])
            _service_account(store, namespace, obj)
            _priority(store, obj)
            _runtime_class(store, obj)
            _tolerations(obj["spec"])
        case "PersistentVolumeClaim":
            _protect(obj, CLAIM_PROTECTION)
            _default_class(store, obj)
        case "PersistentVolume":
            _protect(obj, VOLUME_PROTECTION)


def _service_account(store: Store, namespace: str, pod: Json) -> None:
    spec = pod["spec"]
    name = spec.setdefault("serviceAccountName", "default")
    spec["serviceAccount"] = name
    account = store.get(key(SERVICE_ACCOUNTS), (namespace, name))
    if account is None:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise forbidden(PODS, pod["metadata"].get("name", ""), why)
    if account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]
    wanted = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
    without = [c for c in every_container(spec) if not _mounts_token(c)]
    if wanted and without:
        volume = f"kube-api-access-{suffix()}"
        spec.setdefault("volumes", []).append(_token_volume(volume))
        for container in without:
            mount = {"name": volume, "readOnly": True, "mountPath": _TOKEN_PATH}
            container.setdefault("volumeMounts", []).append(mount)


def _mounts_token(container: Json) -> bool:
    return any(mount.get("mountPath") == _TOKEN_PATH for mount in container.get("volumeMounts") or ())


def _token_volume(name: str) -> Json:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": authority},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 420}}


def _priority(store: Store, pod: Json) -> None:
    spec = pod["spec"]
    name = spec.get("priorityClassName")
    found = store.get(key(PRIORITY_CLASSES), ("", name)) if name else None
    if name and found is None:
        why = f"no PriorityClass with name {name} was found"
        raise forbidden(PODS, pod["metadata"].get("name", ""), why)
    if found is None:
        defaults = [c for c in store.items(key(PRIORITY_CLASSES)) if c.get("globalDefault")]
        found = max(defaults, key=lambda c: c.get("value", 0), default=None)
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
    spec["priority"] = (found or {}).get("value", 0)
    spec.setdefault("preemptionPolicy", (found or {}).get("preemptionPolicy", "PreemptLowerPriority"))


def _runtime_class(store: Store, pod: Json) -> None:
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    if not name:
        return
    found = store.get(key(RUNTIME_CLASSES), ("", name))
    if found is None:
        why = f'pod rejected: RuntimeClass "{name}" not found'
        raise forbidden(PODS, pod["metadata"].get("name", ""), why)
    if (found.get("overhead") or {}).get("podFixed"):
        spec["overhead"] = found["overhead"]["podFixed"]
    scheduling = found.get("scheduling") or {}
    if scheduling.get("nodeSelector"):
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **scheduling["nodeSelector"]}
    if scheduling.get("tolerations"):
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *scheduling["tolerations"]]


def _tolerations(spec: Json) -> None:
    found = spec.setdefault("tolerations", [])
    for key_name in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        known = any(
            t.get("key") in (key_name, None, "") and t.get("effect") in ("NoExecute", None, "") for t in found
        )
        if not known:
            found.append(
                {"key": key_name, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            )


def _limit_ranges(store: Store, namespace: str, spec: Json) -> None:
    """Defaults of LimitRanges for containers, and the annotation that tells of them is left out."""
    for limit_range in store.items(key(LIMIT_RANGES), namespace):
        for item in (limit_range.get("spec") or {}).get("limits") or ():
            if item.get("type") != "Container":
                continue
            for container in every_container(spec):
                resources = container.setdefault("resources", {})
                limits, requests = dict(resources.get("limits") or {}), dict(resources.get("requests") or {})
                for name, amount in (item.get("defaultRequest") or item.get("default") or {}).items():
                    requests.setdefault(name, amount)
                for name, amount in (item.get("default") or {}).items():
                    limits.setdefault(name, amount)
                for part, amounts in (("limits", limits), ("requests", requests)):
                    if amounts:
                        resources[part] = amounts


def _protect(obj: Json, finalizer: str) -> None:
    found = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in found:
        found.append(finalizer)


def _default_class(store: Store, claim: Json) -> None:
    if "storageClassName" in claim["spec"]:
        return
    classes = [
        found
        for found in store.items(key(STORAGE_CLASSES))
        if (found["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    ]
    if classes:
        newest = max(classes, key=lambda found: found["metadata"]["creationTimestamp"])
        claim["spec"]["storageClassName"] = newest["metadata"]["name"]
