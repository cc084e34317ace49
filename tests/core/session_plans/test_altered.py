"""Admission changed a field that is ours: the object is rejected by its UID, whatever was cut short.

An object that cannot be proved ours any more is left to a person, who is told which and how.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.observed import Absent, Observed, Present
from moorage.core.plans import actions as do
from moorage.core.plans.observation import ClaimSeen, PodSeen, Seen, Trouble, Verdict
from moorage.core.plans.session import plan_session
from moorage.core.session import Desired, Diagnosis, Intent, Phase, Session, State, WorkspaceMode

from .drawn import NOW, seen, session, sessions
from .test_settles import Life
from .world import MUTATED, Fault

ALTERED = Verdict.ALTERED
DENIED = Diagnosis("access", "Forbidden", "pods is forbidden", terminal=True)
LEAVING = (Desired.ARCHIVED, Desired.DELETED)

modes = st.sampled_from([WorkspaceMode.MANAGED_PVC, WorkspaceMode.EMPTY_DIR])
kinds = st.sampled_from([("Pod",), ("Claim",), ("Pod", "Claim")])
faults = st.lists(st.sampled_from(list(Fault)), max_size=12)


def outcome(life: Life) -> tuple[Any, ...]:
    why = life.stored.state.diagnosis
    return life.stored.state.phase, why and why.reason, life.world.pod is None, life.world.claim is None


@settings(max_examples=300, deadline=None)
@given(modes, kinds, faults, st.sampled_from(list(Desired)))
def test_a_crash_before_in_or_after_any_call_ends_as_the_undisturbed_run(
    mode: WorkspaceMode, alters: tuple[str, ...], unlucky: list[Fault], after: Desired
) -> None:
    quiet, life = Life(mode, source=None), Life(mode, source=None)
    quiet.world.alters = life.world.alters = alters
    for fault in unlucky:
        life.round(fault)
    for one in (quiet, life):
        one.settle()
    assert outcome(life) == outcome(quiet)
    for one in (quiet, life):
        one.want(after)
        one.settle()
    assert outcome(life) == outcome(quiet)
    assert life.world.pod is None or "Pod" not in alters


@settings(max_examples=400, deadline=None)
@given(sessions(), seen(ALTERED))
def test_an_altered_object_is_never_used_only_rejected_and_by_the_uid_that_was_seen(
    record: Session, look: Seen
) -> None:
    action = plan_session(record, look, NOW).action
    if isinstance(look.pod, Present) and look.pod.value.verdict is ALTERED:
        assert not isinstance(action, do.AdoptPod | do.DeletePod | do.Connect | do.StartAgent)
    managed = record.inventory.snapshot.workspace.mode is WorkspaceMode.MANAGED_PVC
    if managed and isinstance(look.claim, Present) and look.claim.value.verdict is ALTERED:
        assert not isinstance(action, do.AdoptClaim | do.DeleteClaim | do.CreatePod)
    if isinstance(action, do.RejectPod):
        assert isinstance(look.pod, Present)
        assert (action.uid, look.pod.value.verdict) == (look.pod.value.uid, ALTERED)
    if isinstance(action, do.RejectClaim):
        assert isinstance(look.claim, Present)
        assert (action.uid, look.claim.value.verdict) == (look.claim.value.uid, ALTERED)


def plan(
    desired: Desired,
    pod: Observed[PodSeen],
    claim: Observed[ClaimSeen],
    trouble: Trouble | None = None,
    **record: Any,
) -> do.Plan:
    base: dict[str, Any] = {
        "claim_uid": "claim-1",
        "claim_created_by_us": True,
        "state": State(Phase.SCHEDULING, NOW - 30),
        "intent": Intent(desired, 2, NOW - 5),
        "seen_intent": 2,
    }
    return plan_session(session(**{**base, **record}), Seen(Present(True), pod, claim, None, trouble), NOW)


@pytest.mark.parametrize("desired", list(Desired))
def test_whatever_is_wanted_an_altered_pod_goes_first(desired: Desired) -> None:
    altered = Present(PodSeen("pod-1", ALTERED, "spec.hostPID: changed"))
    claim = Present(ClaimSeen("claim-1", Verdict.OWNED))
    assert plan(desired, altered, claim).action == do.RejectPod("pod-1")


@pytest.mark.parametrize("desired", [Desired.RUNNING, *LEAVING])
def test_an_altered_claim_is_neither_mounted_nor_kept(desired: Desired) -> None:
    altered = Present(ClaimSeen("claim-1", ALTERED, "metadata.ownerReferences: changed"))
    planned = plan(desired, Absent(), altered, claim_uid="", claim_created_by_us=False)
    assert planned.action == do.RejectClaim("claim-1")


def test_a_late_start_still_says_that_its_pod_was_altered() -> None:
    """A command that was killed, and the next one an hour later: the reason is not that it took long."""
    altered = Present(PodSeen("pod-1", ALTERED, "spec.hostPID: changed"))
    claim = Present(ClaimSeen("claim-1", Verdict.OWNED))
    late = Intent(Desired.RUNNING, 2, NOW - 3600)
    assert plan(Desired.RUNNING, altered, claim, intent=late).action == do.RejectPod("pod-1")
    tried = Trouble("RejectPod", Diagnosis("timeout", "NoAnswer", "no answer"))
    given_up = plan(Desired.RUNNING, altered, claim, tried, intent=late)
    assert given_up.session.state.phase is Phase.FAILED


@pytest.mark.parametrize("why", [DENIED, MUTATED], ids=["may not be deleted", "is gone"])
def test_a_rejection_that_is_over_ends_the_start_and_says_why(why: Diagnosis) -> None:
    altered = Present(PodSeen("pod-1", ALTERED, "spec.hostPID: changed"))
    claim = Present(ClaimSeen("claim-1", Verdict.OWNED))
    over = Trouble("RejectPod", why)
    failed = plan(Desired.RUNNING, altered, claim, over)
    assert failed.session.state.diagnosis == why
    after = plan(Desired.RUNNING, altered, claim, over, state=failed.session.state)
    assert (after.action, after.settle) == (None, do.Terminal("failed"))


UNPROVED = "metadata.annotations[moorage.dev/create-nonce]: it does not carry a create nonce"


@pytest.mark.parametrize("deleting", [False, True], ids=["there", "Terminating"])
@pytest.mark.parametrize("desired", LEAVING)
def test_a_pod_that_is_not_proved_ours_but_holds_the_claim_is_named_with_what_a_person_may_do(
    desired: Desired, deleting: bool
) -> None:
    holder = Present(PodSeen("pod-9", Verdict.FOREIGN, UNPROVED, holds_claim=True))
    claim = Present(ClaimSeen("claim-1", Verdict.OWNED, deleting=deleting))
    planned = plan(desired, holder, claim)
    assert (planned.action, planned.session.state.phase) == (None, Phase.FAILED)
    why = planned.session.state.diagnosis
    assert why is not None
    assert why.category == "name_blocked"
    for told in ("moorage-s1", "uid pod-9", UNPROVED, "uses claim moorage-s1"):
        assert told in why.message
    assert "kubectl -n agents delete pod moorage-s1" in why.hint


@pytest.mark.parametrize(
    "over",
    [{"deleting": True}, {"phase": "Succeeded"}, {"holds_claim": False}],
    ids=lambda over: next(iter(over)),
)
def test_a_foreign_pod_that_does_not_keep_the_claim_does_not_keep_us(over: dict[str, Any]) -> None:
    pod = PodSeen("pod-9", Verdict.FOREIGN, UNPROVED, **{"holds_claim": True, **over})
    claim = Present(ClaimSeen("claim-1", Verdict.OWNED))
    assert plan(Desired.DELETED, Present(pod), claim).action == do.DeleteClaim("claim-1")


def test_a_claim_that_waits_for_somebodys_pod_says_how_to_see_which() -> None:
    waiting = plan(Desired.DELETED, Absent(), Present(ClaimSeen("claim-1", Verdict.OWNED, deleting=True)))
    assert "kubectl -n agents describe pvc moorage-s1" in waiting.session.state.reason
