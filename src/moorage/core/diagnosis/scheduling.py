"""Why a Pod has no node yet. Called by ``diagnosis.pod`` only; reads the PodScheduled condition and, where
the scheduler wrote none, the newest FailedScheduling event."""

from __future__ import annotations

import re
from collections.abc import Sequence

from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.kinds import Json
from moorage.core.pod_view import condition
from moorage.core.session import Diagnosis

_TABLE: tuple[tuple[str, str, str, str], ...] = (
    (
        r'persistentvolumeclaim "[^"]*" not found',
        "claim",
        "ClaimMissing",
        "create the claim, or name another with --claim",
    ),
    (r'persistentvolumeclaim "[^"]*" is being deleted', "claim", "ClaimTerminating", ""),
    (r"bound to non-existent persistentvolume", "claim", "ClaimLost", ""),
    (
        r'storageclass\S* "[^"]*" not found',
        "claim",
        "StorageClassMissing",
        "name a class with --storage-class",
    ),
    (
        r"unbound immediate PersistentVolumeClaims",
        "claim",
        "ClaimPending",
        "see why with: kubectl describe pvc",
    ),
    (
        r"didn't find available persistent volumes",
        "claim",
        "NoVolume",
        "use a storage class that provisions volumes",
    ),
    (
        r"Insufficient |Too many pods",
        "unschedulable",
        "InsufficientResources",
        "lower resources.requests in the template, or add a node",
    ),
    (
        r"volume node affinity conflict",
        "unschedulable",
        "VolumeNodeAffinity",
        "the volume is bound to another zone or node: make room there",
    ),
    (
        r"exceed max volume count|maximum volume count",
        "unschedulable",
        "VolumeLimit",
        "detach volumes from a node, or add a node",
    ),
    (
        r"didn't match Pod's node affinity/selector|didn't match node selector",
        "unschedulable",
        "NodeSelector",
        "no node has all the labels asked for, kubernetes.io/arch of the platform included",
    ),
    (r"didn't have free ports", "unschedulable", "HostPortTaken", "remove hostPort from the template"),
    (r"untolerated taint|had taint", "unschedulable", "Taints", "add a toleration to the template"),
    (r"were unschedulable", "unschedulable", "NodesCordoned", "uncordon a node"),
    (r"no nodes available", "unschedulable", "NoNodes", "add a node"),
)
"""(pattern, category, reason, hint): the first that is found in the scheduler's message tells."""


def diagnose_scheduling(pod: Json, events: Sequence[Json]) -> Diagnosis | None:
    """None once a node is chosen, and while the scheduler has not spoken. Never terminal: nodes, volumes
    and room may come."""
    if (pod.get("spec") or {}).get("nodeName"):
        return None
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("reason") == "SchedulingGated":
        gates = [gate.get("name") for gate in (pod.get("spec") or {}).get("schedulingGates") or []]
        message = "held back by scheduling gate " + ", ".join(str(gate) for gate in gates)
        hint = "a queue or controller holds the Pod; it starts when the gate is lifted"
        return diagnosis("unschedulable", "Queued", message, hint=hint)
    message = _message(scheduled, events)
    if not message:
        return None
    message = re.sub(r" ?(?:no new claims to deallocate, )?preemption: .*", "", message, flags=re.DOTALL)
    for pattern, category, reason, hint in _TABLE:
        if re.search(pattern, message):
            return diagnosis(category, reason, message, hint=hint)
    return diagnosis("unschedulable", "Unschedulable", message)


def _message(scheduled: Json, events: Sequence[Json]) -> str:
    if scheduled.get("reason") == "Unschedulable" and scheduled.get("message"):
        return str(scheduled["message"])
    failed = [event.get("message") for event in events if event.get("reason") == "FailedScheduling"]
    return str(failed[-1] or "") if failed else ""
