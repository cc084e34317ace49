"""What an agent wrote last lies in its Pod until somebody has read it: one look each at a Pod that goes."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.observed import Absent, Observed, Present
from moorage.core.plans import actions as do
from moorage.core.plans.leaving import BETWEEN_STARTS, RETURN_LIMIT, UNREAD
from moorage.core.plans.observation import ClaimSeen, LinkSeen, PodSeen, Seen, Verdict
from moorage.core.plans.session import plan_session
from moorage.core.session import AgentExit, AgentRun, Desired, Intent, Phase, Session, State

from .drawn import NOW, session

PAUSE, STOP = Desired.PAUSED, Desired.STOPPED
ARCHIVE, DELETE = Desired.ARCHIVED, Desired.DELETED
AT_WORK = AgentRun("s1-1-0", pod_uid="pod-1", epoch="epoch-1")
UNSEEN = AgentRun("s1-1-0", pod_uid="pod-1", epoch="epoch-1", exit=AgentExit())
BETWEEN = Present(PodSeen("pod-1", Verdict.OWNED, phase="Running", main_running=False))
RUNS = Present(PodSeen("pod-1", Verdict.OWNED, phase="Running", main_running=True))
DeletePod, Connect = do.DeletePod("pod-1"), do.Connect("pod-1")


def written(desired: Desired, run: AgentRun | None = AT_WORK, *, force: bool = False, **more: Any) -> Session:
    """Of an agent whose end nobody has read."""
    known = {"pod_uid": "pod-1", "claim_uid": "claim-1", "claim_created_by_us": True, "ever_ran": True}
    wish = Intent(desired, 2, NOW - 5, force=force)
    at = {"state": State(Phase.RUNNING, NOW - 60), "intent": wish, "seen_intent": 2}
    return session(**{**known, **at, "run": run, "unread": True, **more})


def looked(record: Session, pod: Observed[PodSeen], link: LinkSeen | None = None) -> do.Plan:
    claim = Present(ClaimSeen("claim-1", Verdict.OWNED))
    return plan_session(record, Seen(Present(True), pod, claim, link), NOW)


def waiting(seconds: float, reason: str = BETWEEN_STARTS, phase: Phase = Phase.DRAINING) -> dict[str, Any]:
    return {"state": State(phase, NOW - seconds, reason=reason)}


@pytest.mark.parametrize("desired", [PAUSE, STOP, ARCHIVE, DELETE])
def test_a_container_between_two_starts_is_waited_for(desired: Desired) -> None:
    plan = looked(written(desired), BETWEEN)
    assert (plan.action, plan.session.state.phase) == (None, Phase.DRAINING)
    assert plan.session.state.reason == BETWEEN_STARTS
    assert isinstance(plan.settle, do.Retry)
    assert looked(written(desired, **waiting(RETURN_LIMIT)), BETWEEN).action is None


@pytest.mark.parametrize("desired", [PAUSE, ARCHIVE, DELETE])
def test_one_that_does_not_come_back_is_waited_for_once_and_not_for_ever(desired: Desired) -> None:
    plan = looked(written(desired, **waiting(RETURN_LIMIT + 1)), BETWEEN)
    assert (plan.action, plan.session.state.reason) == (DeletePod, UNREAD)
    again = looked(plan.session, BETWEEN)  # the Pod had changed meanwhile
    assert (again.action, again.session.state) == (DeletePod, plan.session.state)


def test_a_stop_leaves_it_in_the_pod() -> None:
    plan = looked(written(STOP, **waiting(RETURN_LIMIT + 1)), BETWEEN)
    assert (plan.action, plan.session.state.phase) == (None, Phase.PRESERVED)
    assert plan.session.run == UNSEEN
    assert plan.session.unread, "whoever takes the Pod away later reads it first"


def test_a_container_that_comes_and_goes_is_not_waited_for_anew_each_time() -> None:
    record = written(PAUSE, **waiting(20))
    plan = looked(record, RUNS)
    assert (plan.action, plan.session.state) == (Connect, record.state)


@pytest.mark.parametrize("desired", [PAUSE, ARCHIVE, DELETE])
@pytest.mark.parametrize("run", [AT_WORK, UNSEEN, None], ids=["end not seen", "stopped", "failed"])
def test_what_a_restarted_container_holds_is_read_before_the_pod_goes(
    desired: Desired, run: AgentRun | None
) -> None:
    plan = looked(written(desired, run), RUNS)
    assert plan.action == Connect
    back = LinkSeen("pod-1", "epoch-2", "exited", "s1-1-0")
    plan = looked(plan.session, RUNS, back)
    assert (plan.action, plan.session.unread) == (None, False)
    assert looked(plan.session, RUNS, back).action == DeletePod


def test_a_stop_that_ended_it_needs_nothing_of_a_pod_that_stays() -> None:
    assert looked(written(STOP, UNSEEN), RUNS).session.state.phase is Phase.PRESERVED


@pytest.mark.parametrize("desired", [ARCHIVE, DELETE])
def test_force_waits_for_nothing(desired: Desired) -> None:
    assert looked(written(desired, force=True), BETWEEN).action == DeletePod


@pytest.mark.parametrize("desired", list(Desired))
def test_what_went_with_the_pod_is_told_before_anything_else(desired: Desired) -> None:
    gone: Observed[PodSeen] = Absent()
    assert looked(written(desired), gone).action == do.NoteLoss()
    assert looked(written(desired, unread=False), gone).action != do.NoteLoss()


@pytest.mark.parametrize(
    ("epoch", "action"), [("epoch-1", do.NoteLoss()), ("", None)], ids=["it ran", "it was never started"]
)
def test_a_helper_that_knows_of_no_agent_has_nothing_of_what_it_wrote(
    epoch: str, action: do.Action | None
) -> None:
    record = written(PAUSE, AgentRun("s1-1-0", pod_uid="pod-1", epoch=epoch))
    plan = looked(record, RUNS, LinkSeen("pod-1", "epoch-2", "none"))
    assert plan.action == action
