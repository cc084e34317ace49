"""A Pod being deleted is gone only when its node is; anything less never lets a second one start."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.diagnosis import PodPresence, Presence, deletion
from moorage.core.observed import Absent, Observed, Present, Unknown

Json = dict[str, Any]
DUE = 1767225600.0  # 2026-01-01T00:00:00Z
READY = Present({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
SILENT = Present({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})
UNREAD: Unknown = Unknown("not allowed")


def seen(phase: str = "Running", *, deleting: bool = False, node: str = "n1", **metadata: Any) -> Json:
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec = {"nodeName": node} if node else {}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


CASES: list[tuple[Json, Observed[Json], float, Presence]] = [
    (seen("Failed"), UNREAD, 0, Presence.HERE),
    (seen("Failed", deleting=True), READY, 600, Presence.TERMINATING),
    (seen("Failed", deleting=True), SILENT, 600, Presence.STUCK),
    (seen("Running"), READY, 0, Presence.HERE),
    (seen("Running"), Absent(), 0, Presence.HERE),
    (seen("Unknown"), SILENT, 0, Presence.HERE),
    (seen(deleting=True), READY, -5, Presence.TERMINATING),
    (seen(deleting=True), Absent(), -5, Presence.TERMINATING),
    (seen(deleting=True), Absent(), 1, Presence.GONE),
    (seen(deleting=True), SILENT, 5, Presence.TERMINATING),
    (seen(deleting=True), SILENT, 600, Presence.STUCK),
    (seen(deleting=True), UNREAD, 600, Presence.STUCK),
    (seen(deleting=True), READY, 600, Presence.TERMINATING),
    (seen("Pending", deleting=True, node=""), Absent(), 600, Presence.TERMINATING),
]


@pytest.mark.parametrize(("pod", "node", "after", "verdict"), CASES)
def test_presence_of_a_pod(pod: Json, node: Observed[Json], after: float, verdict: Presence) -> None:
    assert deletion(pod, node, DUE + after).presence is verdict


def test_a_stuck_pod_says_node_lost_and_a_held_one_says_who_holds_it() -> None:
    assert deletion(seen(deleting=True), SILENT, DUE + 600) == PodPresence(Presence.STUCK, "NodeLost")
    held = seen(deleting=True, finalizers=["example.com/hold"])
    assert "example.com/hold" in deletion(held, READY, DUE + 600).why


@pytest.mark.parametrize("odd", ["", "yesterday", "0001-01-01T00:00:00Z"])
def test_a_deletion_time_that_makes_no_sense_never_makes_a_deletion(odd: str) -> None:
    pod = seen()
    pod["metadata"]["deletionTimestamp"] = odd or "x"
    assert deletion(pod, Absent(), DUE).presence is Presence.TERMINATING
