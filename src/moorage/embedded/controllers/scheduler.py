"""The scheduler: gives each waiting Pod a node, or says in the scheduler's words why there is none.

Selectors, required node affinity, taints, amounts, host ports and claims, as far as one node can tell
Pods apart. No preemption, no scores: the first node that fits.
"""

from __future__ import annotations

import contextlib
from collections import Counter

from moorage.core.errors import ApiError
from moorage.core.kinds import CLAIMS, NODES, PODS, STORAGE_CLASSES, Json
from moorage.embedded.controllers.claims import SELECTED_NODE, used_claims
from moorage.embedded.controllers.fitting import misfit
from moorage.embedded.objects import LocalObjects
from moorage.embedded.registry.kinds import VOLUMES, key
from moorage.embedded.registry.registry import Registry
from moorage.embedded.storage.store import Change

_WATCHED = frozenset({key(PODS), key(NODES), key(CLAIMS), key(STORAGE_CLASSES), key(VOLUMES)})


class _Waits(Exception):
    """Its claims are being bound: look again when they have changed."""


class Scheduler:
    """The controller."""

    def __init__(self, registry: Registry, objects: LocalObjects) -> None:
        self._registry, self._objects = registry, objects

    def wants(self, resource: str, change: Change) -> bool:
        if resource == key(NODES) and change.type == "MODIFIED":
            return _schedulable(change.obj) != _schedulable(change.previous or {})
        return resource in _WATCHED

    def reconcile(self) -> None:
        """One pass over all Pods without a node."""
        pods = self._registry.store.items(key(PODS))
        for pod in pods:
            waiting = not pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
            if waiting and pod["spec"].get("schedulerName") == "default-scheduler":
                with contextlib.suppress(ApiError, _Waits):
                    self._schedule(pod)

    def _schedule(self, pod: Json) -> None:
        gates = pod["spec"].get("schedulingGates")
        if gates:
            text = "Scheduling is blocked due to non-empty scheduling gates"
            self._unscheduled(pod, "SchedulingGated", text, event=False)
            return
        trouble = self._claims_trouble(pod)
        nodes = self._objects.list(NODES)
        if trouble or not nodes:
            why = trouble or "no nodes available to schedule pods"
            total = f"0/{len(nodes)} nodes are available: {why}." if trouble else why
            self._unscheduled(pod, "Unschedulable", _with_preemption(total, len(nodes)))
            return
        reasons: Counter[str] = Counter()
        for node in nodes:
            name = node["metadata"]["name"]
            why_not = misfit(pod, node, self._on(name))
            if not why_not:
                self._bind(pod, name)
                return
            reasons.update(why_not)
        told = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        total = f"0/{len(nodes)} nodes are available: {told}."
        self._unscheduled(pod, "Unschedulable", _with_preemption(total, len(nodes)))

    def _on(self, node: str) -> list[Json]:
        """Pods that take room on a node."""
        ended = ("Succeeded", "Failed")
        return [
            pod
            for pod in self._registry.store.items(key(PODS))
            if pod["spec"].get("nodeName") == node and (pod.get("status") or {}).get("phase") not in ended
        ]

    def _claims_trouble(self, pod: Json) -> str:
        namespace = pod["metadata"]["namespace"]
        for name in used_claims(pod):
            claim = self._objects.get(CLAIMS, namespace, name)
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if claim["metadata"].get("deletionTimestamp"):
                return f'persistentvolumeclaim "{name}" is being deleted'
            phase = (claim.get("status") or {}).get("phase")
            if phase == "Lost":
                volume = claim["spec"].get("volumeName")
                return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
            if phase != "Bound" and not self._binds_late(claim):
                return "pod has unbound immediate PersistentVolumeClaims"
        return ""

    def _binds_late(self, claim: Json) -> bool:
        name = claim["spec"].get("storageClassName")
        found = self._objects.get(STORAGE_CLASSES, "", name) if name else None
        return found is not None and found["volumeBindingMode"] == "WaitForFirstConsumer"

    def _bind(self, pod: Json, node: str) -> None:
        """Bind, after its claims are bound to that node."""
        waits = False
        for name in used_claims(pod):
            claim = self._objects.get(CLAIMS, pod["metadata"]["namespace"], name)
            if claim is None or (claim.get("status") or {}).get("phase") == "Bound":
                continue
            waits = True
            notes = claim["metadata"].get("annotations") or {}
            if notes.get(SELECTED_NODE) != node:
                metadata = {**claim["metadata"], "annotations": {**notes, SELECTED_NODE: node}}
                self._objects.update(CLAIMS, {**claim, "metadata": metadata})
        if waits:
            raise _Waits
        self._objects.bind(pod, node)
        where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        self._objects.event(pod, "Normal", "Scheduled", f"Successfully assigned {where} to {node}")

    def _unscheduled(self, pod: Json, reason: str, message: str, *, event: bool = True) -> None:
        """Set the condition, and tell it once."""
        found = (pod.get("status") or {}).get("conditions") or []
        old: Json = next((c for c in found if c.get("type") == "PodScheduled"), {})
        if (old.get("reason"), old.get("message")) == (reason, message):
            return
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "observedGeneration": pod["metadata"].get("generation", 1),
            "lastProbeTime": None,
            "lastTransitionTime": old.get("lastTransitionTime") or self._registry.time(),
            "reason": reason,
            "message": message,
        }
        others = [c for c in found if c.get("type") != "PodScheduled"]
        status = {**(pod.get("status") or {}), "conditions": [condition, *others]}
        self._objects.update_status(PODS, {**pod, "status": status})
        if event:
            self._objects.event(pod, "Warning", "FailedScheduling", message)


def _with_preemption(text: str, nodes: int) -> str:
    if not nodes:
        return text
    return (
        f"{text} preemption: 0/{nodes} nodes are available: {nodes} Preemption is not helpful for scheduling."
    )


def _schedulable(node: Json) -> tuple[object, ...]:
    """What of a node matters for placing Pods: not its heartbeat."""
    status, spec = node.get("status") or {}, node.get("spec") or {}
    ready = [c.get("status") for c in status.get("conditions") or () if c.get("type") == "Ready"]
    return (
        status.get("allocatable"),
        spec.get("taints"),
        spec.get("unschedulable"),
        (node.get("metadata") or {}).get("labels"),
        ready,
    )
