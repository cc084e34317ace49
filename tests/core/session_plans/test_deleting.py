"""A Pod that is being deleted: who ends it, whatever we want of the session."""

from __future__ import annotations

import pytest

from moorage.core.observed import Absent, Present
from moorage.core.plans.actions import DeletePod, Retry
from moorage.core.plans.observation import ClaimSeen, PodSeen, Seen, Verdict
from moorage.core.plans.session import plan_session
from moorage.core.session import Desired, Intent, Phase, State

from .drawn import NOW, session

# phase, past its grace with a silent node, its node gone → deleted by us, without grace
CASES = [
    ("Running", False, False, False),
    ("Running", True, False, False),  # it may run still: a person frees it
    ("Running", True, True, True),
    ("Failed", False, False, False),  # its containers have ended; its kubelet takes it away
    ("Succeeded", False, False, False),
    ("Failed", True, False, True),
    ("Failed", True, True, True),
]


@pytest.mark.parametrize("desired", [Desired.RUNNING, Desired.PAUSED, Desired.ARCHIVED, Desired.DELETED])
@pytest.mark.parametrize(("phase", "overdue", "node_gone", "ours"), CASES)
def test_it_is_left_to_its_kubelet_unless_nothing_runs_and_nobody_answers(
    desired: Desired, phase: str, overdue: bool, node_gone: bool, ours: bool
) -> None:
    record = session(
        pod_uid="pod-1",
        claim_uid="claim-1",
        claim_created_by_us=True,
        intent=Intent(desired, 1, NOW),
        seen_intent=1,
        state=State(Phase.RUNNING, NOW),
    )
    pod = PodSeen(
        "pod-1", Verdict.OWNED, phase=phase, deleting=True, overdue=overdue, node_gone=node_gone, cause="x"
    )
    claim = ClaimSeen("claim-1", Verdict.OWNED)
    plan = plan_session(record, Seen(Present(True), Present(pod), Present(claim)), NOW)
    assert plan.action == (DeletePod("pod-1", now=True) if ours else None)
    assert isinstance(plan.settle, Retry)
    gone = plan_session(record, Seen(Present(True), Absent(), Present(claim)), NOW)
    assert not isinstance(gone.action, DeletePod)
