"""How far the deletion of a Pod has come, and whether anybody is left to finish it (docs/design.md §4).

Called by ``engine.observe`` before a replacement Pod is planned: a second Pod on the same workspace is the
one mistake that cannot be taken back. Terminating on a silent node is not gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from moorage.core.kinds import Json
from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.pod_view import condition, parse_time

LATENESS = 30.0
"""Seconds past its grace for which a kubelet may simply be slow."""


class Presence(StrEnum):
    """``stuck``: its grace is over and its node does not answer; ``gone``: over, and there is no node."""

    HERE = "here"
    TERMINATING = "terminating"
    STUCK = "stuck"
    GONE = "gone"


@dataclass(frozen=True)
class PodPresence:
    """``why``: for people, e.g. ``NodeLost``."""

    presence: Presence
    why: str = ""


def deletion(pod: Json, node: Observed[Json], now: float) -> PodPresence:
    """Of a Pod that is there, whatever its phase: of one that has Failed nothing runs, but its kubelet still
    takes it away. ``node``: the Node it is bound to (Absent only when a read proved it; pass Unknown when it
    was not asked for). ``now``: seconds since the epoch by the API server's clock, since deletionTimestamp is
    its time."""
    metadata = pod.get("metadata") or {}
    if not metadata.get("deletionTimestamp"):
        return PodPresence(Presence.HERE)
    # The API server sets deletionTimestamp to the moment at which grace ends.
    due = parse_time(metadata["deletionTimestamp"])
    late = now - due if due is not None else 0.0
    scheduled = bool((pod.get("spec") or {}).get("nodeName"))
    if late > 0 and scheduled and isinstance(node, Absent):
        return PodPresence(Presence.GONE, "its node is gone")
    if late > LATENESS and scheduled and isinstance(node, Unknown):
        return PodPresence(Presence.STUCK, f"NodeLost? its node could not be read: {node.why}")
    if late > LATENESS and scheduled and _silent(node):
        return PodPresence(Presence.STUCK, "NodeLost")
    return PodPresence(Presence.TERMINATING, _holders(metadata))


def _silent(node: Observed[Json]) -> bool:
    return not isinstance(node, Present) or condition(node.value, "Ready").get("status") != "True"


def _holders(metadata: Json) -> str:
    finalizers = [str(name) for name in metadata.get("finalizers") or []]
    return "held by finalizer " + ", ".join(finalizers) if finalizers else ""
