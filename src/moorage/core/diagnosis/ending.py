"""What ended a whole Pod: eviction, preemption, a lost node, a refusing kubelet. Called by ``diagnosis.pod``
and ``diagnosis.interruption``. The verdict often stands at Pod level only, with no container state at all."""

from __future__ import annotations

from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.kinds import Json
from moorage.core.pod_view import condition
from moorage.core.session import Diagnosis

_DISRUPTIONS = {
    "PreemptionByScheduler": "preempted",
    "DeletionByTaintManager": "evicted",
    "EvictionByEvictionAPI": "evicted",
    "TerminationByKubelet": "evicted",
    "DeletionByPodGC": "node_lost",
}
_REASONS = {
    "Evicted": "evicted",
    "Shutdown": "evicted",
    "NodeShutdown": "evicted",
    "Terminated": "evicted",
    "Preempting": "preempted",
    "Preempted": "preempted",
    "NodeLost": "node_lost",
}
_REJECTIONS = frozenset(
    {
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "NodeUnschedulable",
        "TaintToleration",
        "UnexpectedAdmissionError",
        "TopologyAffinityError",
        "UnexpectedPodAdmissionError",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "AppArmor",
        "SysctlForbidden",
        "VolumeAttachmentLimitExceeded",
        "PodLevelResourcesNotSupported",
        "InvalidNodeInfo",
    }
)


def diagnose_ending(pod: Json) -> Diagnosis | None:
    """None while nothing has ended the Pod as a whole. Terminal for this Pod; a replacement may do well."""
    status = pod.get("status") or {}
    phase, reason = status.get("phase"), str(status.get("reason") or "")
    message = status.get("message")
    disruption = condition(pod, "DisruptionTarget")
    leaving = phase == "Failed" or bool((pod.get("metadata") or {}).get("deletionTimestamp"))
    if leaving and disruption.get("status") == "True":
        why = str(disruption.get("reason") or "")
        category = _REASONS.get(reason) or _DISRUPTIONS.get(why, "evicted")
        return diagnosis(category, reason or why, message or disruption.get("message") or why, terminal=True)
    if reason in _REASONS and (phase == "Failed" or reason == "NodeLost"):
        terminal = phase == "Failed"
        return diagnosis(_REASONS[reason], reason, message or reason, terminal=terminal)
    if phase == "Failed" and (reason.startswith("OutOf") or reason in _REJECTIONS):
        return diagnosis("kubelet_rejected", reason, message or reason, terminal=True)
    if phase == "Failed" and reason == "DeadlineExceeded":
        return diagnosis(
            "timeout", reason, message or "the Pod reached its activeDeadlineSeconds", terminal=True
        )
    if phase == "Unknown":
        said = message or "the node no longer reports on this Pod"
        return diagnosis("node_lost", reason or "PodUnknown", said)
    return None
