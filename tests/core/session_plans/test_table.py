"""The verdicts that must never change, one look each: record and observation in, action and phase out."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.plans import actions as do
from moorage.core.plans.leaving import STOP_TRIES
from moorage.core.plans.observation import ClaimSeen, LinkSeen, PodSeen, Seen, Trouble, Verdict
from moorage.core.plans.session import plan_session
from moorage.core.session import (
    AgentExit,
    AgentRun,
    Desired,
    Diagnosis,
    Intent,
    Phase,
    Restart,
    State,
    WorkspaceMode,
)

from .drawn import NOW, session

RUN, STOP, PAUSE = Desired.RUNNING, Desired.STOPPED, Desired.PAUSED
ARCHIVE, DELETE = Desired.ARCHIVED, Desired.DELETED
OURS, THEIRS = Verdict.OWNED, Verdict.FOREIGN
DENIED: Observed[Any] = Unknown("denied")
GONE: Observed[Any] = Absent()
AT_WORK = AgentRun("s1-1-0", pod_uid="pod-1", epoch="epoch-1")
ENDED = AgentRun("s1-1-0", pod_uid="pod-1", epoch="epoch-1", exit=AgentExit(signal=15))
ANSWERS = LinkSeen("pod-1", "epoch-1", "running", "s1-1-0")


def pod(verdict: Verdict = OURS, **more: Any) -> Observed[PodSeen]:
    return Present(PodSeen("pod-1", verdict, **{"phase": "Running", "main_running": True, **more}))


def claim(verdict: Verdict = OURS, **more: Any) -> Observed[ClaimSeen]:
    return Present(ClaimSeen("claim-1", verdict, **more))


def given(**record: Any) -> dict[str, Any]:
    return record


def restarted(times: int, ago: float = 5.0, cause: str = "Pod deleted") -> dict[str, Any]:
    restarts = tuple(Restart(NOW - ago, cause) for _ in range(times))
    return {"run": AT_WORK, "restarts": restarts}


NOT_OURS = given(claim_created_by_us=False)
GIVEN = given(mode=WorkspaceMode.EXISTING_CLAIM, claim_created_by_us=False)
EMPTY = given(mode=WorkspaceMode.EMPTY_DIR, claim_uid="", claim_created_by_us=False)
BUSY = given(run=AT_WORK)
DONE = given(run=ENDED)
NEW = given(pod_uid="", claim_uid="", claim_created_by_us=False, ever_ran=False)
DeletePod, DeleteClaim, Forget = do.DeletePod("pod-1"), do.DeleteClaim("claim-1"), do.Forget()

Row = tuple[str, Desired, dict[str, Any], Observed[Any], Observed[Any], do.Action | None, Phase]
TABLE: list[Row] = [
    ("rm, Pod unknown", DELETE, DONE, DENIED, claim(), None, Phase.CLEANING),
    ("rm, Pod there", DELETE, DONE, pod(), claim(), DeletePod, Phase.CLEANING),
    ("rm, Pod terminating", DELETE, DONE, pod(deleting=True), claim(), None, Phase.CLEANING),
    ("rm, Pod gone", DELETE, DONE, GONE, claim(), DeleteClaim, Phase.CLEANING),
    ("archive, Pod gone", ARCHIVE, DONE, GONE, claim(), DeleteClaim, Phase.CLEANING),
    ("rm, claim unknown", DELETE, DONE, GONE, DENIED, None, Phase.CLEANING),
    ("rm, claim terminating", DELETE, DONE, GONE, claim(deleting=True), None, Phase.CLEANING),
    ("rm, claim not made by us", DELETE, NOT_OURS, GONE, claim(), Forget, Phase.DELETED),
    ("rm, claim given", DELETE, GIVEN, GONE, claim(), Forget, Phase.DELETED),
    ("rm, given claim by all marks", DELETE, GIVEN | {"claim_created_by_us": True}, GONE, claim(), Forget,
     Phase.DELETED),
    ("rm, claim foreign", DELETE, DONE, GONE, claim(THEIRS), None, Phase.FAILED),
    ("rm, Pod foreign", DELETE, DONE, pod(THEIRS), claim(), None, Phase.FAILED),
    ("rm, all gone", DELETE, DONE, GONE, GONE, Forget, Phase.DELETED),
    ("rm, agent at work", DELETE, BUSY, pod(), claim(), do.Drain(), Phase.DRAINING),
    ("pause, agent at work", PAUSE, BUSY, pod(), claim(), do.Drain(), Phase.DRAINING),
    ("pause, agent ended", PAUSE, DONE, pod(), claim(), DeletePod, Phase.DRAINING),
    ("pause, Pod unknown", PAUSE, DONE, DENIED, claim(), None, Phase.RUNNING),
    ("pause, Pod gone", PAUSE, DONE, GONE, claim(), None, Phase.PRESERVED),
    ("pause, Pod foreign", PAUSE, DONE, pod(THEIRS), claim(), None, Phase.FAILED),
    ("stop, agent at work", STOP, BUSY, pod(), claim(), do.Drain(), Phase.DRAINING),
    ("stop, agent ended", STOP, DONE, pod(), claim(), do.CloseLink(), Phase.PRESERVED),
    ("stop, Pod foreign", STOP, DONE, pod(THEIRS), claim(), None, Phase.FAILED),
    ("stop, emptyDir gone", STOP, EMPTY | BUSY, GONE, GONE, None, Phase.LOST),
    ("run, nothing there", RUN, NEW, GONE, GONE, do.CreateClaim(), Phase.PROVISIONING_STORAGE),
    ("run, claim there", RUN, NEW | {"claim_uid": "claim-1"}, GONE, claim(), do.CreatePod(),
     Phase.SCHEDULING),
    ("run, claim unknown", RUN, NEW, GONE, DENIED, None, Phase.RUNNING),
    ("run, Pod unknown", RUN, NEW, DENIED, claim(), None, Phase.RUNNING),
    ("run, our claim lost", RUN, BUSY, GONE, GONE, None, Phase.LOST),
    ("run, given claim not there", RUN, GIVEN | {"claim_uid": ""}, GONE, GONE, None, Phase.FAILED),
    ("run, claim foreign", RUN, NEW, GONE, claim(THEIRS), None, Phase.FAILED),
    ("run, Pod foreign", RUN, NEW, pod(THEIRS), claim(), None, Phase.FAILED),
    ("run, emptyDir gone", RUN, EMPTY | BUSY, GONE, GONE, None, Phase.LOST),
    ("run, emptyDir never used", RUN, EMPTY | NEW, GONE, GONE, do.CreatePod(), Phase.SCHEDULING),
    ("run, Pod terminating", RUN, BUSY, pod(deleting=True), claim(), None, Phase.INTERRUPTED),
    ("run, Pod gone", RUN, BUSY, GONE, claim(), None, Phase.INTERRUPTED),
    ("run, third time in ten minutes", RUN, restarted(2), GONE, claim(), None, Phase.INTERRUPTED),
    ("run, fourth time in ten minutes", RUN, restarted(3), GONE, claim(), None, Phase.FAILED),
    ("run, fourth time in a day", RUN, restarted(3, ago=601), GONE, claim(), None, Phase.INTERRUPTED),
    ("run, fourth time of another cause", RUN, restarted(3, cause="evicted"), GONE, claim(), None,
     Phase.INTERRUPTED),
    ("run, restarts are off", RUN, BUSY | {"restart_allowed": False}, GONE, claim(), None, Phase.FAILED),
]  # fmt: skip


def look(row: Row, same: Observed[bool]) -> do.Plan:
    _, desired, fields, pod_seen, claim_seen, _, _ = row
    base: dict[str, Any] = {
        "mode": WorkspaceMode.MANAGED_PVC,
        "pod_uid": "pod-1",
        "claim_uid": "claim-1",
        "claim_created_by_us": True,
        "ever_ran": True,
        "state": State(Phase.RUNNING, NOW - 30),
        "intent": Intent(desired, 2, NOW - 5),
        "seen_intent": 2,
    }
    link = ANSWERS if isinstance(pod_seen, Present) and pod_seen.value.verdict is OURS else None
    return plan_session(session(**{**base, **fields}), Seen(same, pod_seen, claim_seen, link), NOW)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_each_look_has_its_answer(row: Row) -> None:
    plan = look(row, Present(True))
    assert (plan.action, plan.session.state.phase) == (row[-2], row[-1])


@pytest.mark.parametrize("same", [Present(False), DENIED], ids=["another cluster", "unknown cluster"])
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_in_any_other_cluster_the_answer_is_to_do_nothing(row: Row, same: Observed[bool]) -> None:
    plan = look(row, same)
    assert (plan.action, plan.session.state.phase) == (None, Phase.RUNNING)


GOING = claim(deleting=True)
NO_VOLUME = claim(diagnosis=Diagnosis("claim", "ClaimLost", "its volume is lost", terminal=True))


@pytest.mark.parametrize(
    ("seen", "bad", "phase", "said"),
    [
        (pod(), GOING, Phase.RUNNING, "is being deleted: the workspace goes with this Pod"),
        (pod(), NO_VOLUME, Phase.RUNNING, "its volume is lost"),
        (pod(main_running=False), NO_VOLUME, Phase.FAILED, "its volume is lost"),
        (GONE, GOING, Phase.PROVISIONING_STORAGE, "claim is being deleted"),
    ],
    ids=["case 93: deleted", "case 93: lost", "case 93: lost, not started", "case 93: deleted, no Pod"],
)
def test_a_claim_that_goes_costs_no_agent_that_works_on_it(
    seen: Observed[PodSeen], bad: Observed[ClaimSeen], phase: Phase, said: str
) -> None:
    plan = look(("", RUN, BUSY, seen, bad, None, phase), Present(True))
    assert (plan.action, plan.session.state.phase) == (None, phase)
    why = plan.session.state.diagnosis
    assert said in (why.message if why else plan.session.state.reason)


OVER = (Phase.FAILED, Phase.LOST, Phase.PRESERVED, Phase.ARCHIVED, Phase.DELETED)


@pytest.mark.parametrize("phase", OVER, ids=lambda phase: f"case 49: {phase}")
def test_what_is_over_is_not_brought_back_by_a_look_at_a_pod_that_runs(phase: Phase) -> None:
    over = BUSY | {"state": State(phase, NOW - 30)}
    plan = look(("", RUN, over, pod(), claim(), None, phase), Present(True))
    assert (plan.action, plan.session.state.phase) == (None, phase)


@pytest.mark.parametrize("desired", [STOP, PAUSE, DELETE])
def test_an_agent_that_went_with_its_pod_did_not_succeed(desired: Desired) -> None:
    plan = look(("", desired, BUSY, GONE, claim(), None, Phase.PRESERVED), Present(True))
    assert plan.session.run is not None
    assert plan.session.run.exit == AgentExit()


@pytest.mark.parametrize(
    ("reason", "phase"), [("ContainerGone", Phase.DRAINING), ("Http500", Phase.FAILED)], ids=["gone", "deaf"]
)
def test_a_stop_waits_for_what_becomes_of_a_container_that_is_gone(reason: str, phase: Phase) -> None:
    """An agent that cannot be reached runs on: the stop has failed. In a container that is gone none runs."""
    unreached = Trouble("Connect", Diagnosis("link", reason, "no"), STOP_TRIES)
    drawn = session(
        mode=WorkspaceMode.MANAGED_PVC,
        pod_uid="pod-1",
        claim_uid="claim-1",
        ever_ran=True,
        run=AT_WORK,
        state=State(Phase.DRAINING, NOW - 30),
        intent=Intent(STOP, 2, NOW - 5),
        seen_intent=2,
    )
    plan = plan_session(drawn, Seen(Present(True), pod(), claim(), None, unreached), NOW)
    assert plan.session.state.phase is phase
    assert plan.action == (do.Connect("pod-1") if phase is Phase.DRAINING else None)
