"""What a server fills in where an object leaves something open. Pure; changes the object it is given.

Called by the registry after decoding, before admission and checks.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from moorage.core.kinds import Json
from moorage.embedded.registry.amounts import amount_of

_SERVICE_ACCOUNT_SECONDS = 3600


def set_defaults(kind: str, obj: Json) -> None:
    """Fill in ``obj``, an object of ``kind``."""
    match kind:
        case "Pod":
            _pod(obj.setdefault("spec", {}))
        case "PodTemplate":
            template = obj.setdefault("template", {})
            template.setdefault("metadata", {})
            pod_spec(template.setdefault("spec", {}))
        case "Namespace":
            labels = obj["metadata"].setdefault("labels", {})
            labels["kubernetes.io/metadata.name"] = obj["metadata"].get("name", "")
        case "PersistentVolumeClaim":
            spec = obj.setdefault("spec", {})
            spec.setdefault("volumeMode", "Filesystem")
            _same_source(spec)
        case "PersistentVolume":
            spec = obj.setdefault("spec", {})
            spec.setdefault("volumeMode", "Filesystem")
            spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
            if isinstance(spec.get("hostPath"), dict):
                spec["hostPath"].setdefault("type", "")
        case "StorageClass":
            obj.setdefault("reclaimPolicy", "Delete")
            obj.setdefault("volumeBindingMode", "Immediate")
        case "Secret":
            obj.setdefault("type", "Opaque")
            _string_data(obj)
        case "PriorityClass":
            obj.setdefault("preemptionPolicy", "PreemptLowerPriority")
            obj.setdefault("value", 0)
        case "Role" | "ClusterRole":
            obj.setdefault("rules", None)
        case "RoleBinding" | "ClusterRoleBinding":
            _bindings(obj)
        case "ResourceQuota" | "Node" | "Lease":
            obj.setdefault("spec", {})
        case "LimitRange":
            for item in obj.setdefault("spec", {}).setdefault("limits", None) or ():
                _limits(item)
        case "NetworkPolicy":
            _network_policy(obj.setdefault("spec", {}))
        case "Service":
            _service(obj.setdefault("spec", {}))
        case "MutatingWebhookConfiguration":
            for webhook in obj.get("webhooks") or ():
                _webhook(webhook)
        case "Event":
            for name in ("eventTime", "firstTimestamp", "lastTimestamp"):
                obj.setdefault(name, None)
            for name in ("reportingComponent", "reportingInstance"):
                obj.setdefault(name, "")
            obj.setdefault("source", {})


def prepare(kind: str, obj: Json) -> None:
    """What a new object of ``kind`` begins with; nobody who writes it owns these fields."""
    match kind:
        case "Pod":
            obj["status"] = {"phase": "Pending", "qosClass": qos(obj["spec"])}
            if obj["spec"].get("schedulingGates"):
                obj["status"]["conditions"] = [_gated(obj["metadata"]["creationTimestamp"])]
        case "Namespace":
            obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
            obj["status"] = {"phase": "Active"}
        case "PersistentVolumeClaim" | "PersistentVolume":
            obj["status"] = {"phase": "Pending"}
        case "ResourceQuota" | "Node":
            obj["status"] = {}
        case "Service":
            obj["status"] = {"loadBalancer": {}}


def _gated(now: str) -> Json:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }


def _pod(spec: Json) -> None:
    """What only Pods get, and templates of Pods do not."""
    pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for container in every_container(spec):
        resources = container["resources"]
        for name, value in (resources.get("limits") or {}).items():
            resources.setdefault("requests", {}).setdefault(name, value)


def pod_spec(spec: Json) -> None:
    """Defaults of a PodSpec, in place."""
    for name, value in (
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("dnsPolicy", "ClusterFirst"),
        ("schedulerName", "default-scheduler"),
    ):
        spec.setdefault(name, value)
    spec.setdefault("securityContext", {})
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in every_container(spec):
        _container(container, host_network=bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes") or ():
        _volume(volume)
    if spec.get("containers") == []:
        del spec["containers"]


def every_container(spec: Json) -> Iterator[Json]:
    """Ordinary, init and ephemeral containers of a PodSpec."""
    for part in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(part) or ()


def _container(container: Json, *, host_network: bool) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image") or ""))
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network and port.get("containerPort"):
            port.setdefault("hostPort", port["containerPort"])
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(container.get(probe), dict):
            _probe(container[probe])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _handler(handler)
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference is not None:
            reference.setdefault("apiVersion", "v1")
        amount = (variable.get("valueFrom") or {}).get("resourceFieldRef")
        if amount is not None:
            amount.setdefault("divisor", "0")


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    if "@" in name or image != image.strip():  # what cannot be read as a reference has no tag
        return "IfNotPresent"
    tag = name.partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _probe(probe: Json) -> None:
    for name, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        probe.setdefault(name, value)
    _handler(probe)


def _handler(handler: Json) -> None:
    if isinstance(handler.get("httpGet"), dict):
        handler["httpGet"].setdefault("path", "/")
        handler["httpGet"].setdefault("scheme", "HTTP")
    if isinstance(handler.get("grpc"), dict):
        handler["grpc"].setdefault("service", "")


_MODES = ("configMap", "secret", "downwardAPI", "projected")


def _volume(volume: Json) -> None:
    if set(volume) <= {"name"}:
        volume["emptyDir"] = {}
    for name in _MODES:
        if isinstance(volume.get(name), dict):
            volume[name].setdefault("defaultMode", 420)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    for source in (volume.get("projected") or {}).get("sources") or ():
        if isinstance(source.get("serviceAccountToken"), dict):
            source["serviceAccountToken"].setdefault("expirationSeconds", _SERVICE_ACCOUNT_SECONDS)
        _field_references(source.get("downwardAPI"))
    _field_references(volume.get("downwardAPI"))


def _field_references(source: Any) -> None:
    for item in (source or {}).get("items") or ():
        if isinstance(item.get("fieldRef"), dict):
            item["fieldRef"].setdefault("apiVersion", "v1")


def qos(spec: Json) -> str:
    """The quality of service class a Pod gets."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    amounts = [
        (c.get("resources") or {}).get(part) or {} for c in containers for part in ("requests", "limits")
    ]
    if not any(amount_of(found.get(name)) for found in amounts for name in ("cpu", "memory")):
        return "BestEffort"
    for container in containers:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            if not amount_of(limits.get(name)) or amount_of(limits[name]) != amount_of(requests.get(name)):
                return "Burstable"
    return "Guaranteed"


def _same_source(spec: Json) -> None:
    """A claim's two ways to name its source say the same; the older one only knows volumes and snapshots."""
    source = spec.get("dataSource")
    if source is not None:
        known = (source.get("apiGroup") or "", source.get("kind"))
        if known not in (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")):
            del spec["dataSource"]
    source = spec.get("dataSource") or spec.get("dataSourceRef")
    if source is None:
        return
    for name in ("dataSource", "dataSourceRef"):
        spec.setdefault(name, dict(source)).setdefault("apiGroup", None)


def _limits(item: Json) -> None:
    """What a limit leaves open follows from the others: a default from the maximum, a request from both."""
    if item.get("type") != "Container":
        return
    for target, sources in (("default", ("max",)), ("defaultRequest", ("default", "min"))):
        found = dict(item.get(target) or {})
        for source in sources:
            for name, amount in (item.get(source) or {}).items():
                found.setdefault(name, amount)
        if found:
            item[target] = found


def _network_policy(spec: Json) -> None:
    spec.setdefault("podSelector", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _service(spec: Json) -> None:
    for name, value in (("type", "ClusterIP"), ("sessionAffinity", "None")):
        spec.setdefault(name, value)
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": 10800}})
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port", 0))


def _webhook(webhook: Json) -> None:
    for name, value in (
        ("failurePolicy", "Fail"),
        ("matchPolicy", "Equivalent"),
        ("namespaceSelector", {}),
        ("objectSelector", {}),
        ("reinvocationPolicy", "Never"),
        ("timeoutSeconds", 10),
    ):
        webhook.setdefault(name, value)
    for rule in webhook.get("rules") or ():
        rule.setdefault("scope", "*")


def _string_data(obj: Json) -> None:
    for key, value in (obj.pop("stringData", None) or {}).items():
        obj.setdefault("data", {})[key] = base64.b64encode(value.encode()).decode()


def _bindings(obj: Json) -> None:
    obj.setdefault("roleRef", {}).setdefault("apiGroup", "rbac.authorization.k8s.io")
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", "rbac.authorization.k8s.io")
