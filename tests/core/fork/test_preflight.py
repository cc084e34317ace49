"""The preflight of a fork: what was seen → copy, clone, or why not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from moorage.core.forking import fork_names, forked
from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.plans.cloning import ClaimFacts, VolumeFacts
from moorage.core.plans.fork import ForkFacts, ForkVerdict, judge_fork
from moorage.core.session import Desired, Intent, Phase, Session, SourceSpec, State, WorkspaceMode, change
from tests.core.session_plans.drawn import NOW, session

CLAIM = ClaimFacts("moorage-s1", "claim-1", storage_class="fast", requested="1Gi", capacity="2Gi")
VOLUME = VolumeFacts(Present("disks.csi.example"), "Immediate", Present("disks.csi.example"))
GONE, AT_REST, WORKS = Absent(), Present("exited"), Present("running")
LOCAL = replace(VOLUME, provisioner=Present("kubernetes.io/no-provisioner"), driver=Present(""))
DENIED = VolumeFacts(Unknown("storageclasses is forbidden"), "", Unknown("persistentvolumes is forbidden"))
MARKED = SourceSpec("path", "/x", marker="m1")


def origin(
    phase: Phase = Phase.PRESERVED, mode: WorkspaceMode = WorkspaceMode.MANAGED_PVC, **more: Any
) -> Session:
    fields = {"claim_uid": "claim-1", "pod_uid": "pod-1", "filled": "claim-1", "seen_intent": 1, **more}
    return session(mode, state=State(phase, NOW), **fields)


def judged(
    one: Session,
    pod: Observed[str] = AT_REST,
    claim: Observed[ClaimFacts] = Present(CLAIM),  # noqa: B008
    volume: VolumeFacts = VOLUME,
    **asked: Any,
) -> ForkVerdict:
    return judge_fork(one, ForkFacts(pod, claim, volume), **asked)


@pytest.mark.parametrize(
    ("pod", "volume", "source", "asked", "method"),
    [
        pytest.param(AT_REST, VOLUME, None, {}, "copy", id="a Pod at rest is copied from"),
        pytest.param(AT_REST, LOCAL, None, {}, "copy", id="whatever the storage is"),
        pytest.param(AT_REST, DENIED, None, {}, "copy", id="and whatever may be read of it"),
        pytest.param(AT_REST, VOLUME, None, {"method": "clone"}, "clone", id="cloned where asked for"),
        pytest.param(GONE, VOLUME, MARKED, {}, "clone", id="paused: cloned"),
        pytest.param(GONE, VOLUME, None, {}, "", id="paused, and nothing to prove it by"),
        pytest.param(GONE, LOCAL, MARKED, {}, "", id="paused, and no CSI driver"),
        pytest.param(GONE, DENIED, MARKED, {}, "", id="paused, unread storage: not unasked"),
        pytest.param(GONE, DENIED, MARKED, {"method": "clone"}, "clone", id="but where asked for"),
        pytest.param(GONE, VOLUME, MARKED, {"method": "copy"}, "", id="paused: nothing to copy from"),
        pytest.param(WORKS, VOLUME, None, {}, "", id="an agent that works"),
        pytest.param(WORKS, VOLUME, None, {"live": True}, "copy", id="taken live"),
        pytest.param(Present("draining"), VOLUME, None, {}, "", id="an agent that is being ended"),
        pytest.param(Unknown("no answer"), VOLUME, None, {}, "", id="an agent nobody can ask"),
        pytest.param(WORKS, VOLUME, None, {"method": "clone", "live": True}, "", id="live clone unproved"),
        pytest.param(WORKS, VOLUME, MARKED, {"method": "clone", "live": True}, "clone", id="live clone"),
    ],
)
def test_the_method(
    pod: Observed[str], volume: VolumeFacts, source: SourceSpec | None, asked: dict[str, Any], method: str
) -> None:
    verdict = judged(origin(source=source), pod, volume=volume, **asked)
    assert (verdict.method, verdict.refusal is None) == (method, bool(method))


@pytest.mark.parametrize(
    ("phase", "possible"),
    [
        (Phase.PRESERVED, True),
        (Phase.FAILED, True),
        (Phase.RUNNING, True),  # the record is old: agentctl says that the agent has exited
        (Phase.DRAINING, True),
        *((phase, False) for phase in Phase if phase not in
          (Phase.PRESERVED, Phase.FAILED, Phase.RUNNING, Phase.DRAINING)),
    ],
)  # fmt: skip
def test_only_a_workspace_that_was_filled_and_still_is_there_is_forked(phase: Phase, possible: bool) -> None:
    assert bool(judged(origin(phase)).method) is possible


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(origin(source=MARKED, filled=""), id="its source never came that far"),
        pytest.param(origin(claim_uid="", pod_uid=""), id="it never had a claim or Pod"),
        pytest.param(origin(intent=Intent(Desired.RUNNING, 2, NOW)), id="somebody has just resumed it"),
    ],
)
def test_a_session_that_is_not_at_rest_is_not_forked(one: Session) -> None:
    assert judged(one).refusal is not None


@pytest.mark.parametrize(
    ("claim", "volume", "key"),
    [
        ({"uid": "claim-2"}, {}, "claim"),
        ({"deleting": True}, {}, "claim"),
        ({"storage_class": ""}, {}, "driver"),
        ({}, {"provisioner": Absent()}, "driver"),
        ({}, {"provisioner": Present("kubernetes.io/aws-ebs")}, "driver"),
        ({}, {"provisioner": Present("rancher.io/local-path"), "driver": Present("")}, "driver"),
        ({}, {"driver": Present("other.csi.example")}, "driver"),
        ({"volume_mode": "Block"}, {}, "volume_mode"),
        ({"access_modes": ("ReadOnlyMany",)}, {}, "access_mode"),
        ({"bound": False}, {}, "binding"),
    ],
)
def test_what_keeps_a_claim_from_being_cloned_is_named(
    claim: dict[str, Any], volume: dict[str, Any], key: str
) -> None:
    verdict = judged(
        origin(), claim=Present(replace(CLAIM, **claim)), volume=replace(VOLUME, **volume), method="clone"
    )
    assert verdict.refusal is not None
    assert verdict.refusal.key == key


@pytest.mark.parametrize("mode", WorkspaceMode)
def test_an_emptydir_is_copied_and_never_cloned(mode: WorkspaceMode) -> None:
    possible = mode is not WorkspaceMode.EMPTY_DIR
    assert bool(judged(origin(mode=mode), method="clone").method) is possible
    assert judged(origin(mode=mode)).method == "copy"


def test_a_clone_is_no_smaller_than_the_volume_and_in_the_same_class() -> None:
    workspace = judged(origin(), method="clone").workspace
    assert (workspace.mode, workspace.size, workspace.storage_class) == (
        WorkspaceMode.MANAGED_PVC,
        "2Gi",
        "fast",
    )


def test_a_copy_of_our_own_claim_keeps_the_policy_it_was_launched_with() -> None:
    one = origin()
    assert judged(one).workspace == one.inventory.snapshot.workspace


def test_a_given_claim_is_never_shared_with_the_fork() -> None:
    one = origin(mode=WorkspaceMode.EXISTING_CLAIM)
    for claim in (Present(CLAIM), Unknown("forbidden")):
        assert judged(one, claim=claim, method="copy").workspace.mode is WorkspaceMode.MANAGED_PVC


@pytest.mark.parametrize(
    ("pod", "proof"), [(AT_REST, True), (Present("none"), True), (WORKS, False), (GONE, False)]
)
def test_the_hash_proves_what_nobody_changes_meanwhile(pod: Observed[str], proof: bool) -> None:
    assert judged(origin(source=MARKED), pod, method="clone", live=True).proof is proof


def test_why_the_other_method_is_none_either_is_told_without_standing_in_the_way() -> None:
    verdict = judged(origin(), GONE, volume=LOCAL)
    assert verdict.refusal is not None
    assert verdict.refusal.key == "copy"
    assert ("driver", "not_run") in [(one.key, one.status) for one in verdict.findings]


def test_names_are_numbered_and_pass_over_what_is_taken_and_fit_a_label() -> None:
    names = fork_names("calm-cove", {"calm-cove-fork-1", "calm-cove-fork-3"})
    assert [next(names), next(names)] == ["calm-cove-fork-2", "calm-cove-fork-4"]
    assert len(next(fork_names("a" * 63, set()))) == 63


def test_the_fork_of_a_record_has_nothing_of_what_the_other_owns() -> None:
    one = change(origin(), output_end=9, ever_ran=True)
    fork = forked(one, "s2", "two", one.inventory.snapshot.workspace, NOW)
    ours, theirs = fork.inventory, one.inventory
    assert (ours.pod_uid, ours.claim_uid, ours.nonces, ours.claim_created_by_us) == ("", "", (), False)
    assert (fork.output_end, fork.ever_ran, fork.run, fork.filled, fork.restarts) == (0, False, None, "", ())
    assert {ours.pod_name, ours.claim_name, ours.bootstrap_ref}.isdisjoint(
        {theirs.pod_name, theirs.claim_name, theirs.bootstrap_ref}
    )
    assert (ours.namespace_uid, ours.snapshot) == (theirs.namespace_uid, theirs.snapshot)
