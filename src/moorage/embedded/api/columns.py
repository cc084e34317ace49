"""What ``kubectl get`` shows of each kind: the server's tables. Pure.

Called by ``api.tables``. Columns and words are those of a kube-apiserver 1.36.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from moorage.core.kinds import Json


class Column(NamedTuple):
    """``priority`` 1 shows with ``-o wide`` only."""

    name: str
    cell: Callable[[Json, float], Any]
    priority: int = 0
    type: str = "string"


def age(text: str | None, now: float) -> str:
    """How long ago, as kubectl writes durations."""
    if not text:
        return "<unknown>"
    then = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC).timestamp()
    seconds = max(int(now - then), 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 730:
        return f"{days}d"
    return f"{days // 365}y"


def _name(obj: Json, now: float) -> str:
    return str(obj["metadata"]["name"])


def _age(obj: Json, now: float) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def at(path: str, default: Any = "") -> Callable[[Json, float], Any]:
    """The value at a dotted path."""

    def cell(obj: Json, now: float) -> Any:
        value: Any = obj
        for part in path.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return default if value in (None, "") else value

    return cell


def _pod_ready(pod: Json, now: float) -> str:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    sidecars = {c["name"] for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    counted: list[Json] = [*(status.get("containerStatuses") or ())]
    counted += [c for c in status.get("initContainerStatuses") or () if c.get("name") in sidecars]
    ready = len([c for c in counted if c.get("ready") and "running" in (c.get("state") or {})])
    return f"{ready}/{len(spec.get('containers') or ()) + len(sidecars)}"


def _pod_status(pod: Json, now: float) -> str:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    word = status.get("reason") or status.get("phase") or "Unknown"
    inits = status.get("initContainerStatuses") or ()
    starting = ""
    for number, found in enumerate(inits):
        state = found.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        sidecar = any(
            c["name"] == found.get("name") and c.get("restartPolicy") == "Always"
            for c in spec.get("initContainers") or ()
        )
        if (ended and ended.get("exitCode") == 0) or (sidecar and found.get("started")):
            continue
        if ended:
            starting = f"Init:{ended.get('reason') or _ended_word(ended)}"
        elif waiting.get("reason") not in (None, "", "PodInitializing"):
            starting = f"Init:{waiting['reason']}"
        else:
            starting = f"Init:{number}/{len(spec.get('initContainers') or ())}"
        break
    if starting:
        word = starting
    else:
        for found in reversed(status.get("containerStatuses") or ()):
            state = found.get("state") or {}
            if (state.get("waiting") or {}).get("reason"):
                word = state["waiting"]["reason"]
            elif "terminated" in state:
                word = state["terminated"].get("reason") or _ended_word(state["terminated"])
    if pod["metadata"].get("deletionTimestamp"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return str(word)


def _ended_word(ended: Json) -> str:
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _pod_restarts(pod: Json, now: float) -> str:
    found = (pod.get("status") or {}).get("containerStatuses") or ()
    count = sum(c.get("restartCount", 0) for c in found)
    ends = [((c.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for c in found]
    newest = max((end for end in ends if end), default="")
    return f"{count} ({age(newest, now)} ago)" if count and newest else str(count)


def _node_status(node: Json, now: float) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready: Json = next((c for c in conditions if c.get("type") == "Ready"), {})
    word = "Ready" if ready.get("status") == "True" else "NotReady" if ready else "Unknown"
    return word + (",SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else "")


def _node_roles(node: Json, now: float) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = node["metadata"].get("labels") or {}
    return (
        ",".join(sorted(name.removeprefix(prefix) for name in labels if name.startswith(prefix))) or "<none>"
    )


def _address(kind: str) -> Callable[[Json, float], str]:
    def cell(node: Json, now: float) -> str:
        found = (node.get("status") or {}).get("addresses") or ()
        return next((str(a.get("address")) for a in found if a.get("type") == kind), "<none>")

    return cell


_SHORT_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(where: str) -> Callable[[Json, float], str]:
    def cell(obj: Json, now: float) -> str:
        return ",".join(_SHORT_MODES.get(mode, mode) for mode in at(where, [])(obj, now))

    return cell


def _claim_status(claim: Json, now: float) -> str:
    if claim["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str(at("status.phase")(claim, now))


def _volume_claim(volume: Json, now: float) -> str:
    found = (volume.get("spec") or {}).get("claimRef")
    return f"{found.get('namespace')}/{found.get('name')}" if found else ""


def _class_name(obj: Json, now: float) -> str:
    marked = (obj["metadata"].get("annotations") or {}).get("storageclass.kubernetes.io/is-default-class")
    return f"{obj['metadata']['name']} (default)" if marked == "true" else str(obj["metadata"]["name"])


def _data(obj: Json, now: float) -> int:
    return len(obj.get("data") or {}) + len(obj.get("binaryData") or {})


def _event_object(event: Json, now: float) -> str:
    about = event.get("involvedObject") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _event_source(event: Json, now: float) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    return ", ".join(part for part in (component, source.get("host")) if part)


def _event_seen(event: Json, now: float) -> str:
    return age(event.get("lastTimestamp") or event.get("firstTimestamp") or event.get("eventTime"), now)


def _quota(part: str) -> Callable[[Json, float], str]:
    def cell(quota: Json, now: float) -> str:
        status = quota.get("status") or {}
        used, hard = status.get("used") or {}, status.get("hard") or {}
        names = sorted(n for n in hard if n.startswith("limits.") is (part == "limits"))
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return cell


def _containers(field: str) -> Callable[[Json, float], str]:
    def cell(template: Json, now: float) -> str:
        spec = (template.get("template") or {}).get("spec") or {}
        return ",".join(str(container.get(field, "")) for container in spec.get("containers") or ())

    return cell


def _labels(where: str) -> Callable[[Json, float], str]:
    def cell(obj: Json, now: float) -> str:
        found = at(where, {})(obj, now)
        return ",".join(f"{name}={found[name]}" for name in sorted(found)) or "<none>"

    return cell


def _selector(where: str) -> Callable[[Json, float], str]:
    def cell(obj: Json, now: float) -> str:
        selector = at(where, {})(obj, now)
        parts = [f"{name}={value}" for name, value in (selector.get("matchLabels") or {}).items()]
        for rule in selector.get("matchExpressions") or ():
            key, values = rule.get("key", ""), ",".join(sorted(rule.get("values") or ()))
            told = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})"}
            parts.append(
                told.get(rule.get("operator", ""), key if rule.get("operator") == "Exists" else f"!{key}")
            )
        return ",".join(sorted(parts)) or "<none>"

    return cell


def _service_ports(service: Json, now: float) -> str:
    ports = (service.get("spec") or {}).get("ports") or ()
    return ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in ports) or "<none>"


def _role(binding: Json, now: float) -> str:
    reference = binding.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _subjects(kind: str) -> Callable[[Json, float], str]:
    def cell(binding: Json, now: float) -> str:
        found = [subject for subject in binding.get("subjects") or () if subject.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{subject.get('namespace', '')}/{subject.get('name', '')}" for subject in found)
        return ", ".join(str(subject.get("name", "")) for subject in found)

    return cell


def _count(field: str) -> Callable[[Json, float], int]:
    return lambda obj, now: len(at(field, ())(obj, now))


NAME, AGE = Column("Name", _name), Column("Age", _age)
CUSTOM_AGE = Column("Age", at("metadata.creationTimestamp"), type="date")
"""As a custom resource without columns of its own has it: kubectl makes an age of it."""
CREATED = Column("Created At", at("metadata.creationTimestamp"), type="date")
OTHERS = (NAME, CREATED)
"""Of kinds for which the server has no table of its own."""
_BINDING = (
    NAME,
    Column("Role", _role),
    AGE,
    Column("Users", _subjects("User"), 1),
    Column("Groups", _subjects("Group"), 1),
    Column("ServiceAccounts", _subjects("ServiceAccount"), 1),
)
COLUMNS: dict[str, tuple[Column, ...]] = {
    "Pod": (
        NAME,
        Column("Ready", _pod_ready),
        Column("Status", _pod_status),
        Column("Restarts", _pod_restarts),
        AGE,
        Column("IP", at("status.podIP", "<none>"), 1),
        Column("Node", at("spec.nodeName", "<none>"), 1),
        Column("Nominated Node", at("status.nominatedNodeName", "<none>"), 1),
        Column("Readiness Gates", lambda obj, now: "<none>", 1),
    ),
    "Namespace": (NAME, Column("Status", at("status.phase")), AGE),
    "Node": (
        NAME,
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        AGE,
        Column("Version", at("status.nodeInfo.kubeletVersion")),
        Column("Internal-IP", _address("InternalIP"), 1),
        Column("External-IP", _address("ExternalIP"), 1),
        Column("OS-Image", at("status.nodeInfo.osImage", "<unknown>"), 1),
        Column("Kernel-Version", at("status.nodeInfo.kernelVersion", "<unknown>"), 1),
        Column("Container-Runtime", at("status.nodeInfo.containerRuntimeVersion", "<unknown>"), 1),
    ),
    "PersistentVolumeClaim": (
        NAME,
        Column("Status", _claim_status),
        Column("Volume", at("spec.volumeName")),
        Column("Capacity", at("status.capacity.storage")),
        Column("Access Modes", _modes("status.accessModes")),
        Column("StorageClass", at("spec.storageClassName")),
        Column("VolumeAttributesClass", at("spec.volumeAttributesClassName", "<unset>")),
        AGE,
        Column("VolumeMode", at("spec.volumeMode", "<unset>"), 1),
    ),
    "PersistentVolume": (
        NAME,
        Column("Capacity", at("spec.capacity.storage")),
        Column("Access Modes", _modes("spec.accessModes")),
        Column("Reclaim Policy", at("spec.persistentVolumeReclaimPolicy")),
        Column("Status", _claim_status),
        Column("Claim", _volume_claim),
        Column("StorageClass", at("spec.storageClassName")),
        Column("VolumeAttributesClass", at("spec.volumeAttributesClassName", "<unset>")),
        Column("Reason", at("status.reason")),
        AGE,
        Column("VolumeMode", at("spec.volumeMode", "<unset>"), 1),
    ),
    "StorageClass": (
        Column("Name", _class_name),
        Column("Provisioner", at("provisioner")),
        Column("ReclaimPolicy", at("reclaimPolicy")),
        Column("VolumeBindingMode", at("volumeBindingMode")),
        Column("AllowVolumeExpansion", at("allowVolumeExpansion", False)),
        AGE,
    ),
    "Secret": (NAME, Column("Type", at("type")), Column("Data", _data), AGE),
    "ConfigMap": (NAME, Column("Data", _data), AGE),
    "Event": (
        Column("Last Seen", _event_seen),
        Column("Type", at("type")),
        Column("Reason", at("reason")),
        Column("Object", _event_object),
        Column("Subobject", at("involvedObject.fieldPath"), 1),
        Column("Source", _event_source, 1),
        Column("Message", lambda obj, now: str(obj.get("message") or "").strip()),
        Column("First Seen", lambda obj, now: age(obj.get("firstTimestamp") or obj.get("eventTime"), now), 1),
        Column("Count", at("count", 1), 1),
        Column("Name", _name, 1),
    ),
    "ResourceQuota": (
        NAME,
        Column("Request", _quota("requests")),
        Column("Limit", _quota("limits")),
        AGE,
    ),
    "RuntimeClass": (NAME, Column("Handler", at("handler")), AGE),
    "ServiceAccount": (NAME, AGE),
    "PodTemplate": (
        NAME,
        Column("Containers", _containers("name")),
        Column("Images", _containers("image")),
        Column("Pod Labels", _labels("template.metadata.labels")),
    ),
    "Service": (
        NAME,
        Column("Type", at("spec.type")),
        Column("Cluster-IP", at("spec.clusterIP", "<none>")),
        Column("External-IP", lambda obj, now: "<none>"),
        Column("Port(s)", _service_ports),
        AGE,
        Column("Selector", _labels("spec.selector"), 1),
    ),
    "NetworkPolicy": (NAME, Column("Pod-Selector", _selector("spec.podSelector")), AGE),
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "MutatingWebhookConfiguration": (NAME, Column("Webhooks", _count("webhooks"), type="integer"), AGE),
    "MutatingAdmissionPolicy": (
        NAME,
        Column("Mutations", _count("spec.mutations"), type="integer"),
        Column("ParamKind", at("spec.paramKind.kind", "<unset>")),
        AGE,
    ),
    "Lease": (NAME, Column("Holder", at("spec.holderIdentity")), AGE),
    "PriorityClass": (
        NAME,
        Column("Value", at("value", 0), type="integer"),
        Column("Global-Default", at("globalDefault", False), type="boolean"),
        AGE,
        Column("PreemptionPolicy", at("preemptionPolicy")),
    ),
}
