"""Lost is said of an emptyDir that held work, once its Pod is proved gone; of nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.plans.loss import as_seen
from moorage.core.plans.observation import PodSeen, Seen, Verdict
from moorage.core.plans.session import plan_session
from moorage.core.session import Desired, Intent, Phase, Session, State, WorkspaceMode

from .drawn import NOW, session

EMPTY = WorkspaceMode.EMPTY_DIR
STOPPED = {
    "state": State(Phase.PRESERVED, NOW - 9, reason="stopped", pod="kept"),
    "intent": Intent(Desired.STOPPED, 2, NOW - 9),
    "seen_intent": 2,
}
RUNNING = {"state": State(Phase.RUNNING, NOW - 9), "seen_intent": 1}


def worked(mode: WorkspaceMode = EMPTY, **fields: Any) -> Session:
    return session(mode, **{"pod_uid": "pod-1", "ever_ran": True, **STOPPED, **fields})


@pytest.mark.parametrize("state", [STOPPED, RUNNING], ids=["stopped", "running"])
def test_a_look_says_what_the_planner_will_put_on_record(state: dict[str, Any]) -> None:
    record = worked(**state)
    found = as_seen(record, Absent(), NOW)
    planned = plan_session(record, Seen(Present(True), Absent(), Absent()), NOW).session
    assert found.state.phase is planned.state.phase is Phase.LOST
    assert found.state.diagnosis is not None
    assert found.state.reason == planned.state.reason == "workspace"


NOT_GONE: dict[str, Observed[PodSeen]] = {
    "not known": Unknown("denied"),
    "there": Present(PodSeen("pod-1", Verdict.OWNED)),
    "somebody else's": Present(PodSeen("pod-2", Verdict.FOREIGN)),
}


@pytest.mark.parametrize("pod", NOT_GONE.values(), ids=NOT_GONE)
def test_only_a_proved_absence_is_a_loss(pod: Observed[PodSeen]) -> None:
    assert as_seen(worked(), pod, NOW) == worked()


KEPT: dict[str, Session] = {
    "on a claim": worked(WorkspaceMode.MANAGED_PVC),
    "on a given claim": worked(WorkspaceMode.EXISTING_CLAIM),
    "nothing was done yet": worked(ever_ran=False),
    "let go of before": worked(pod_uid=""),
    "given up on purpose": worked(intent=Intent(Desired.PAUSED, 2, NOW, discard_workspace=True)),
    "being removed": worked(intent=Intent(Desired.DELETED, 2, NOW)),
    "being archived": worked(intent=Intent(Desired.ARCHIVED, 2, NOW)),
    "failed for another reason": worked(state=State(Phase.FAILED, NOW, reason="oom")),
}


@pytest.mark.parametrize("record", KEPT.values(), ids=KEPT)
def test_what_was_not_lost_is_not_called_so(record: Session) -> None:
    assert as_seen(record, Absent(), NOW) == record
