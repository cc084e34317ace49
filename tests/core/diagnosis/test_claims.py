"""Claims: waiting for a first consumer is well; lost, terminating or classless is not."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.diagnosis import claim_missing, diagnose_claim
from moorage.core.observed import Absent, Observed, Present, Unknown

Json = dict[str, Any]


def claim(phase: str, *, deleting: bool = False, **spec: Any) -> Json:
    metadata: Json = {"name": "ws", "uid": "u"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def event(reason: str, message: str, uid: str = "u") -> Json:
    return {"reason": reason, "message": message, "involvedObject": {"uid": uid}}


FAST = Present({"metadata": {"name": "fast"}})
CASES: list[tuple[Json, list[Json], Observed[Json], str | None, bool]] = [
    (claim("Bound"), [], FAST, None, False),
    (claim("Pending", storageClassName="fast"), [], FAST, None, False),
    (claim("Pending"), [event("WaitForFirstConsumer", "waiting")], FAST, None, False),
    (claim("Pending"), [event("FailedBinding", "old", uid="other")], FAST, None, False),
    (claim("Pending", storageClassName="fast"), [], Unknown("denied"), None, False),
    (claim("Pending", storageClassName="fast"), [], Absent(), "StorageClassMissing", True),
    (claim("Pending", storageClassName="none", volumeName="pv"), [], Absent(), None, False),
    (claim("Pending"), [event("FailedBinding", "no storage class is set")], FAST, "NoStorageClass", False),
    (claim("Pending"), [event("ProvisioningFailed", "no room")], FAST, "ProvisioningFailed", False),
    (claim("Lost", volumeName="pv-1"), [], FAST, "ClaimLost", True),
    (claim("Bound", deleting=True), [], FAST, "ClaimTerminating", True),
]


@pytest.mark.parametrize(("observed", "events", "storage_class", "reason", "terminal"), CASES)
def test_verdict_on_a_claim(
    observed: Json, events: list[Json], storage_class: Observed[Json], reason: str | None, terminal: bool
) -> None:
    found = diagnose_claim(observed, events, storage_class)
    assert (found.reason if found else None) == reason
    if found is not None:
        assert (found.category, found.terminal) == ("claim", terminal)
        assert "ws" in found.message


def test_a_claim_that_is_not_there_says_where_to_look() -> None:
    found = claim_missing("data", "dev")
    assert found.terminal
    assert "kubectl -n dev get pvc" in found.hint
