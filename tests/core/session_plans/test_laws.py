"""The laws of planning (docs/design.md section 3), on drawn records and observations.

Oracle: the planned action.
"""

from __future__ import annotations

from hypothesis import given, settings

from moorage.core.observed import Absent, Present, Unknown
from moorage.core.plans import actions as do
from moorage.core.plans.leaving import UNREAD
from moorage.core.plans.observation import PodSeen, Seen, Verdict
from moorage.core.plans.session import plan_session
from moorage.core.session import Desired, Phase, Session, WorkspaceMode

from .drawn import NOW, seen, sessions

MANY = settings(max_examples=200, deadline=None)
RARE = settings(max_examples=800, deadline=None)
"""For laws about what seldom comes up: many things must come together before a claim is deleted."""
LEAVING = (Desired.ARCHIVED, Desired.DELETED)


@MANY
@given(sessions(), seen())
def test_planning_is_total_and_depends_on_nothing_else(record: Session, look: Seen) -> None:
    first = plan_session(record, look, NOW)
    assert first == plan_session(record, look, NOW)
    assert isinstance(first.settle, do.Retry | do.Wait | do.Terminal)


@MANY
@given(sessions(), seen())
def test_nothing_is_done_to_the_cluster_unless_it_is_known_to_be_the_recorded_one(
    record: Session, look: Seen
) -> None:
    plan = plan_session(record, look, NOW)
    if look.same_cluster != Present(True):
        gone = isinstance(look.same_cluster, Absent) and record.intent.desired in LEAVING
        assert plan.action is None or (gone and plan.action in (do.Forget(), do.NoteLoss()))


@RARE
@given(sessions(), seen())
def test_nothing_is_deleted_on_unknown(record: Session, look: Seen) -> None:
    action = plan_session(record, look, NOW).action
    if isinstance(look.pod, Unknown) and not isinstance(look.same_cluster, Absent):
        assert not isinstance(action, do.Forget)
    if isinstance(look.pod, Unknown):
        assert not isinstance(action, do.DeletePod | do.DeleteClaim | do.CreatePod)
    if isinstance(look.claim, Unknown):
        assert not isinstance(action, do.DeleteClaim | do.CreateClaim)


@MANY
@given(sessions(), seen())
def test_only_an_owned_pod_is_deleted_and_by_the_uid_that_was_seen(record: Session, look: Seen) -> None:
    action = plan_session(record, look, NOW).action
    if isinstance(action, do.DeletePod):
        assert isinstance(look.pod, Present)
        pod: PodSeen = look.pod.value
        assert pod.verdict is Verdict.OWNED
        assert action.uid == pod.uid
        assert not pod.deleting or pod.abandoned, "its kubelet ends it, else a person frees it"


@RARE
@given(sessions(*LEAVING), seen())
def test_a_claim_is_deleted_only_when_we_made_it_and_our_pod_is_gone(record: Session, look: Seen) -> None:
    action = plan_session(record, look, NOW).action
    if isinstance(action, do.DeleteClaim):
        assert record.inventory.snapshot.workspace.mode is WorkspaceMode.MANAGED_PVC
        assert record.inventory.claim_created_by_us
        assert record.intent.desired in LEAVING
        assert isinstance(look.claim, Present)
        assert look.claim.value.verdict is Verdict.OWNED
        assert action.uid == look.claim.value.uid
        ours_is_gone = isinstance(look.pod, Absent) or (
            isinstance(look.pod, Present)
            and look.pod.value.verdict is Verdict.FOREIGN
            and not record.inventory.pod_uid
        )
        assert ours_is_gone


@MANY
@given(sessions(), seen())
def test_a_pod_is_created_only_where_none_is(record: Session, look: Seen) -> None:
    action = plan_session(record, look, NOW).action
    if isinstance(action, do.CreatePod):
        assert isinstance(look.pod, Absent)
        assert record.intent.desired is Desired.RUNNING
        assert not isinstance(look.claim, Unknown) or (
            record.inventory.snapshot.workspace.mode is WorkspaceMode.EMPTY_DIR
        )


@RARE
@given(sessions(Desired.RUNNING), seen())
def test_no_claim_replaces_one_that_was_on_record(record: Session, look: Seen) -> None:
    plan = plan_session(record, look, NOW)
    if isinstance(plan.action, do.CreateClaim):
        assert not record.inventory.claim_uid
        assert isinstance(look.claim, Absent)
    lost = isinstance(look.claim, Absent) and bool(record.inventory.claim_uid)
    keeps = record.inventory.snapshot.workspace.mode is not WorkspaceMode.EMPTY_DIR
    if keeps and lost and record.intent.desired is Desired.RUNNING:
        assert not isinstance(plan.action, do.CreatePod), "an empty workspace must not take its place"


@RARE
@given(sessions(), seen(Verdict.FOREIGN))
def test_foreign_objects_are_only_reported(record: Session, look: Seen) -> None:
    action = plan_session(record, look, NOW).action
    if isinstance(look.pod, Present) and look.pod.value.verdict is Verdict.FOREIGN:
        assert not isinstance(
            action, do.Connect | do.AdoptPod | do.DeletePod | do.StartAgent | do.Materialize
        )
    if isinstance(look.claim, Present) and look.claim.value.verdict is Verdict.FOREIGN:
        assert not isinstance(action, do.AdoptClaim | do.DeleteClaim)


@MANY
@given(sessions(), seen())
def test_a_deleted_session_is_left_alone(record: Session, look: Seen) -> None:
    if record.state.phase is Phase.DELETED:
        assert plan_session(record, look, NOW) == do.Plan(record, None, do.Terminal("deleted"))


@MANY
@given(sessions(), seen())
def test_an_unknown_exit_is_never_success(record: Session, look: Seen) -> None:
    plan = plan_session(record, look, NOW)
    before = record.run.exit if record.run else None
    after = plan.session.run.exit if plan.session.run else None
    if after is not None and after != before and look.link is None:
        assert after.code is None


@MANY
@given(sessions(), seen())
def test_an_agent_that_answers_is_asked_to_end_before_its_pod_is_deleted(record: Session, look: Seen) -> None:
    action = plan_session(record, look, NOW).action
    leaving = record.intent.desired in LEAVING
    runs = (record.run is not None and record.run.exit is None) or record.unread
    if not isinstance(action, do.DeletePod) or not runs or (record.intent.force and leaving):
        return
    assert isinstance(look.pod, Present)
    pod: PodSeen = look.pod.value
    unreachable = look.trouble is not None and look.trouble.count >= 4 and look.link is None
    failed = record.intent.desired is Desired.RUNNING and not record.ever_ran
    waited = not pod.main_running and record.state.reason == UNREAD
    assert pod.gone or waited or unreachable or failed


@MANY
@given(sessions(), seen())
def test_what_went_with_a_pod_unread_is_told_before_anything_else_is_done(
    record: Session, look: Seen
) -> None:
    over = record.state.phase in (Phase.DELETED, Phase.ARCHIVED)
    if look.same_cluster == Present(True) and isinstance(look.pod, Absent) and record.unread and not over:
        assert plan_session(record, look, NOW).action == do.NoteLoss()


@RARE
@given(sessions(Desired.RUNNING), seen())
def test_an_interrupted_agent_is_started_again_at_most_three_times_in_ten_minutes(
    record: Session, look: Seen
) -> None:
    after = plan_session(record, look, NOW).session
    for cause in {restart.cause for restart in after.restarts}:
        before = [r for r in record.restarts if r.cause == cause]
        now = [r for r in after.restarts if r.cause == cause]
        if len(now) > len(before):
            assert record.restart_allowed
            assert len(now) <= 3


@RARE
@given(sessions(*LEAVING), seen())
def test_only_archive_and_delete_forget_and_only_when_nothing_of_ours_is_left(
    record: Session, look: Seen
) -> None:
    plan = plan_session(record, look, NOW)
    if isinstance(plan.action, do.Forget) and not isinstance(look.same_cluster, Absent):
        assert record.intent.desired in LEAVING
        assert not isinstance(look.pod, Present) or look.pod.value.verdict is Verdict.FOREIGN
        managed = record.inventory.snapshot.workspace.mode is WorkspaceMode.MANAGED_PVC
        if managed and isinstance(look.claim, Present) and look.claim.value.verdict is Verdict.OWNED:
            assert not record.inventory.claim_created_by_us
