"""Whether this node takes a Pod that was bound to it. Called by ``node.worker`` before anything is made."""

from __future__ import annotations

import platform
from datetime import datetime

from moorage.core.kinds import NODES, RUNTIME_CLASSES, Json
from moorage.embedded.node.capacity import shortage
from moorage.embedded.node.parts import Parts

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def architecture() -> str:
    """This machine's, in the words of a Node."""
    return ARCHITECTURES.get(platform.machine(), platform.machine())


def refusal(pod: Json, parts: Parts) -> tuple[str, str] | None:
    """``(reason, message)`` for a Pod that must fail here; None for one that is taken, or was before."""
    if (pod.get("status") or {}).get("startTime"):
        return None
    node = parts.objects.get(NODES, "", parts.name) or {}
    labels = (node.get("metadata") or {}).get("labels") or {}
    selector = pod["spec"].get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return (
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        )
    uid = pod["metadata"]["uid"]
    short = shortage(pod, parts.others(uid))
    return None if short is None else (short[0], f"Pod was rejected: {short[1]}")


def deadline(pod: Json, now: float) -> float:
    """Seconds that a Pod with activeDeadlineSeconds may still run; infinity for one without."""
    limit, start = pod["spec"].get("activeDeadlineSeconds"), (pod.get("status") or {}).get("startTime")
    if limit is None or start is None:
        return float("inf")
    return datetime.fromisoformat(start).timestamp() + float(limit) - now


def unknown_handler(pod: Json, parts: Parts) -> str:
    """What a runtime says of a RuntimeClass it has no handler for; ``""`` when there is one, or none is
    named.

    Every handler that containerd calls runc is ours.
    """
    name = pod["spec"].get("runtimeClassName")
    found = parts.objects.get(RUNTIME_CLASSES, "", name) if name else None
    handler = (found or {}).get("handler")
    if name is None or handler in ("runc", "moorage"):
        return ""
    if found is None:
        return f'Failed to create pod sandbox: RuntimeClass "{name}" not found'
    cause = f'no runtime for "{handler}" is configured'
    return f"Failed to create pod sandbox: rpc error: code = Unknown desc = {cause}"
