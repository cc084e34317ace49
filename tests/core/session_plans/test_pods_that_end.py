"""Pods that come to nothing, and what is kept of why: one look each."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.observed import Absent, Observed, Present
from moorage.core.plans import actions as do
from moorage.core.plans.actions import Plan, Retry
from moorage.core.plans.changes import RETRY_LAST
from moorage.core.plans.observation import ClaimSeen, PodSeen, Seen, Verdict
from moorage.core.plans.session import plan_session
from moorage.core.session import (
    AgentRun,
    Desired,
    Diagnosis,
    Intent,
    IssuedNonce,
    Phase,
    Restart,
    Session,
    State,
)

from .drawn import NOW, session

LOW = Diagnosis("evicted", "Evicted", "The node was low on resource: memory.", "wait", terminal=True)
BEGUN = NOW - 60


def wishes_to_run(**record: Any) -> Session:
    known = {"claim_uid": "claim-1", "claim_created_by_us": True, "seen_intent": 1}
    return session(intent=Intent(Desired.RUNNING, number=1, at=BEGUN), **{**known, **record})


def looked(record: Session, pod: Observed[PodSeen]) -> Plan:
    claim = Present(ClaimSeen("claim-1", Verdict.OWNED))
    return plan_session(record, Seen(Present(True), pod, claim), NOW)


def made(*seconds_ago: float) -> tuple[IssuedNonce, ...]:
    return tuple(IssuedNonce("Pod", "moorage-s1", f"n{ago}", NOW - ago, settled=True) for ago in seconds_ago)


@pytest.mark.parametrize(
    ("seconds_ago", "pause"),
    [
        ((), 0),
        ((0.1,), 0.4),
        ((3, 0.5), 0.5),
        ((9, 7, 5, 3, 1), 7),
        (tuple(range(50, 0, -1)), RETRY_LAST - 1),
        ((1000, 100), 0),  # of wishes before this one
        ((-500,), 0),  # of a clock that was wrong
        ((20, 12), 0),
    ],
)
def test_pods_that_come_to_nothing_are_made_at_growing_distances(
    seconds_ago: tuple[float, ...], pause: float
) -> None:
    plan = looked(wishes_to_run(nonces=made(*seconds_ago)), Absent())
    if pause:
        assert plan.action is None
        assert isinstance(plan.settle, Retry)
        assert plan.settle.after == pytest.approx(pause)
    else:
        assert plan.action == do.CreatePod()


def test_a_restart_begins_the_count_anew() -> None:
    restarts = (Restart(NOW - 0.1, "Pod deleted"),)
    plan = looked(wishes_to_run(nonces=made(3, 2, 1), restarts=restarts), Absent())
    assert plan.action == do.CreatePod()


def test_the_nodes_words_outlive_the_pod_until_the_next_one_is_made() -> None:
    ended = PodSeen("pod-1", Verdict.OWNED, phase="Failed", cause="evicted", diagnosis=LOW)
    plan = looked(wishes_to_run(pod_uid="pod-1"), Present(ended))
    assert plan.action == do.DeletePod("pod-1")
    assert (plan.session.state.reason, plan.session.state.diagnosis) == ("evicted", LOW)
    plan = looked(plan.session, Absent())
    assert plan.session.state.diagnosis == LOW
    plan = looked(plan.session, Absent())
    assert (plan.action, plan.session.state.diagnosis) == (do.CreatePod(), LOW)


def test_a_start_that_is_late_says_what_became_of_its_pods() -> None:
    state = State(Phase.SCHEDULING, NOW - 1, reason="Evicted", diagnosis=LOW)
    plan = looked(wishes_to_run(state=state, start_timeout=30.0), Absent())
    assert (plan.session.state.phase, plan.session.state.diagnosis) == (Phase.FAILED, LOW)


@pytest.mark.parametrize(("cause", "word"), [("preempted", "preempted"), ("", "Pod deleted")])
def test_what_takes_a_pod_away_keeps_its_word_while_it_goes(cause: str, word: str) -> None:
    going = PodSeen("pod-1", Verdict.OWNED, phase="Running", deleting=True, main_running=True, cause=cause)
    record = wishes_to_run(pod_uid="pod-1", run=AgentRun("s1-1-0"), ever_ran=True)
    assert looked(record, Present(going)).session.state.reason == word


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ("evicted", "Evicted"),
        ("preempted", "Preempted"),
        ("node lost", "NodeLost"),
        ("Pod deleted", "Interrupted"),
    ],
)
def test_an_interruption_that_is_final_tells_its_cause_and_the_clusters_words(
    cause: str, reason: str
) -> None:
    state = State(Phase.INTERRUPTED, NOW - 1, reason=cause, diagnosis=LOW)
    record = wishes_to_run(
        pod_uid="pod-1", state=state, run=AgentRun("s1-1-0"), ever_ran=True, restart_allowed=False
    )
    why = looked(record, Absent()).session.state.diagnosis
    assert why is not None
    assert why.reason == reason
    assert LOW.message in why.message
