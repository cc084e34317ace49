"""Nothing is ours without proof: a recorded UID and our labels, or our nonce and every owned field."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.core.owned import IDENTITY_LABELS, MANAGED_BY_LABEL
from moorage.core.ownership import CHANGED, Altered, Foreign, Owned, judge_claim, judge_pod
from moorage.core.session import Identity, Inventory, IssuedNonce, WorkspaceMode, WorkspaceSpec
from moorage.core.workload import session_claim, session_pod

Make = Callable[..., Inventory]
Json = dict[str, Any]
ISSUED = IssuedNonce("Pod", "moorage-session1", "nonce-1", 1.0)
SPENT = IssuedNonce("Pod", "moorage-session1", "nonce-0", 0.5, settled=True)
CLAIM_NONCE = IssuedNonce("PersistentVolumeClaim", "moorage-session1-workspace", "nonce-c", 1.0)


def live(obj: Json, uid: str = "uid-1") -> Json:
    return {**deepcopy(obj), "metadata": {**deepcopy(obj["metadata"]), "uid": uid}}


@pytest.fixture
def pod(identity: Identity, make_inventory: Make) -> Json:
    return session_pod(identity, make_inventory(), "nonce-1", entrypoint=["sh"])


@pytest.fixture
def claim(identity: Identity, make_inventory: Make) -> Json:
    return session_claim(identity, make_inventory(), "nonce-c")


def test_the_recorded_uid_with_our_labels_is_ours(
    pod: Json, identity: Identity, make_inventory: Make
) -> None:
    inventory = make_inventory(pod_uid="uid-1")
    assert judge_pod(live(pod), identity, inventory, pod) == Owned("uid-1", recorded=True)


def test_a_recorded_pod_stays_ours_whatever_its_spec_became(
    pod: Json, identity: Identity, make_inventory: Make
) -> None:
    changed = live(pod)
    changed["spec"]["containers"][0]["image"] = "other"
    changed["metadata"]["annotations"] = {}
    assert judge_pod(changed, identity, make_inventory(pod_uid="uid-1"), pod) == Owned("uid-1")


@pytest.mark.parametrize(
    "label", ["install-id", "executor-id", "profile-id", "task-id", "session-id"]
)  # fmt: skip
def test_the_recorded_uid_under_another_label_is_foreign(
    pod: Json, identity: Identity, make_inventory: Make, label: str
) -> None:
    other = live(pod)
    other["metadata"]["labels"][f"moorage.dev/{label}"] = "other"
    verdict = judge_pod(other, identity, make_inventory(pod_uid="uid-1"), pod)
    assert isinstance(verdict, Foreign)
    assert verdict.field == f"metadata.labels[moorage.dev/{label}]"


def test_an_unrecorded_pod_with_our_nonce_and_fields_may_be_adopted(
    pod: Json, identity: Identity, make_inventory: Make
) -> None:
    verdict = judge_pod(live(pod), identity, make_inventory(nonces=(ISSUED,)), pod)
    assert verdict == Owned("uid-1", recorded=False)


def test_the_answer_to_an_earlier_request_of_ours_is_adopted_too(
    pod: Json, identity: Identity, make_inventory: Make
) -> None:
    second = IssuedNonce("Pod", "moorage-session1", "nonce-2", 2.0)
    expected = session_pod(identity, make_inventory(), "nonce-2", entrypoint=["sh"])
    verdict = judge_pod(live(pod), identity, make_inventory(nonces=(ISSUED, second)), expected)
    assert verdict == Owned("uid-1", recorded=False)


@pytest.mark.parametrize(
    "nonces",
    [
        (),
        (IssuedNonce("Pod", "moorage-session1", "other", 1.0),),
        (IssuedNonce("Pod", "moorage-session2", "nonce-1", 1.0),),
        (IssuedNonce("PersistentVolumeClaim", "moorage-session1", "nonce-1", 1.0),),
    ],
)
def test_a_perfect_copy_without_a_nonce_issued_for_it_is_foreign(
    pod: Json, identity: Identity, make_inventory: Make, nonces: tuple[IssuedNonce, ...]
) -> None:
    verdict = judge_pod(live(pod), identity, make_inventory(nonces=nonces), pod)
    assert isinstance(verdict, Foreign)
    assert (verdict.uid, verdict.field) == ("uid-1", "metadata.annotations[moorage.dev/create-nonce]")


def test_an_empty_nonce_never_matches(pod: Json, identity: Identity, make_inventory: Make) -> None:
    empty = IssuedNonce("Pod", "moorage-session1", "", 1.0)
    bare = live(pod)
    del bare["metadata"]["annotations"]["moorage.dev/create-nonce"]
    assert isinstance(judge_pod(bare, identity, make_inventory(nonces=(empty,)), pod), Foreign)


def test_our_open_nonce_over_a_changed_owned_field_is_our_create_changed_on_its_way_in(
    pod: Json, identity: Identity, make_inventory: Make
) -> None:
    changed = live(pod)
    changed["spec"]["hostPID"] = True
    verdict = judge_pod(changed, identity, make_inventory(nonces=(ISSUED,)), pod)
    assert isinstance(verdict, Altered)
    assert (verdict.uid, verdict.field) == ("uid-1", "spec.hostPID")


@pytest.mark.parametrize("nonces", [(), (SPENT,)], ids=["never issued", "spent"])
def test_a_changed_object_without_an_open_nonce_of_ours_is_not_to_be_rejected(
    identity: Identity, make_inventory: Make, nonces: tuple[IssuedNonce, ...]
) -> None:
    inventory = make_inventory(nonces=nonces)
    expected = session_pod(identity, inventory, "nonce-0", entrypoint=["sh"])
    changed = live(expected)
    changed["spec"]["hostPID"] = True
    assert isinstance(judge_pod(changed, identity, inventory, expected), Foreign)


@pytest.mark.parametrize("label", [*IDENTITY_LABELS, MANAGED_BY_LABEL])
def test_our_nonce_under_another_label_proves_nothing_and_the_label_is_named(
    pod: Json, identity: Identity, make_inventory: Make, label: str
) -> None:
    changed = live(pod)
    changed["spec"]["hostPID"] = True
    changed["metadata"]["labels"][label] = "other"
    verdict = judge_pod(changed, identity, make_inventory(nonces=(ISSUED,)), pod)
    assert verdict == Foreign("uid-1", f"metadata.labels[{label}]", CHANGED)


def test_a_claim_changed_on_its_way_in_is_rejected_one_that_was_given_never(
    claim: Json, identity: Identity, make_inventory: Make
) -> None:
    changed = live(claim)
    changed["metadata"]["ownerReferences"] = [{"kind": "ConfigMap"}]
    verdict = judge_claim(changed, identity, make_inventory(nonces=(CLAIM_NONCE,)), claim)
    assert isinstance(verdict, Altered)
    given = WorkspaceSpec(WorkspaceMode.EXISTING_CLAIM, claim_name="moorage-session1-workspace")
    inventory = make_inventory(workspace=given, nonces=(CLAIM_NONCE,))
    assert isinstance(judge_claim(changed, identity, inventory, claim), Foreign)


def test_a_same_name_pod_of_another_uid_is_foreign_even_as_a_copy_with_the_spent_nonce(
    identity: Identity, make_inventory: Make
) -> None:
    inventory = make_inventory(pod_uid="uid-1", nonces=(SPENT,))
    expected = session_pod(identity, inventory, "nonce-0", entrypoint=["sh"])
    verdict = judge_pod(live(expected, "uid-2"), identity, inventory, expected)
    assert isinstance(verdict, Foreign)
    assert verdict.field == "metadata.uid"


def test_a_copy_of_a_pod_that_we_had_and_removed_is_foreign(identity: Identity, make_inventory: Make) -> None:
    inventory = make_inventory(nonces=(SPENT,))
    expected = session_pod(identity, inventory, "nonce-0", entrypoint=["sh"])
    verdict = judge_pod(live(expected, "uid-2"), identity, inventory, expected)
    assert verdict == Foreign("uid-2", "metadata.uid", "the object we made is gone, and its nonce is spent")


def test_a_replacement_created_just_before_a_crash_is_adopted(
    pod: Json, identity: Identity, make_inventory: Make
) -> None:
    inventory = make_inventory(pod_uid="uid-1", nonces=(SPENT, ISSUED))
    assert judge_pod(live(pod, "uid-2"), identity, inventory, pod) == Owned("uid-2", recorded=False)


def test_another_uid_without_any_nonce_of_ours_is_foreign(
    pod: Json, identity: Identity, make_inventory: Make
) -> None:
    verdict = judge_pod(live(pod, "uid-2"), identity, make_inventory(pod_uid="uid-1"), pod)
    assert isinstance(verdict, Foreign)
    assert verdict.field == "metadata.uid"
    assert "uid-1" in verdict.why


@pytest.mark.parametrize(
    ("uid", "namespace", "field"),
    [("", "obj-dev", "metadata.uid"), ("uid-1", "other", "metadata.namespace")],
)
def test_an_object_without_uid_or_of_another_namespace_is_foreign(
    pod: Json, identity: Identity, make_inventory: Make, uid: str, namespace: str, field: str
) -> None:
    odd = live(pod, uid)
    odd["metadata"]["namespace"] = namespace
    verdict = judge_pod(odd, identity, make_inventory(nonces=(ISSUED,), pod_uid=uid), pod)
    assert isinstance(verdict, Foreign)
    assert verdict.field == field


def test_two_installations_in_one_namespace_never_own_each_others_pods(
    pod: Json, identity: Identity, make_inventory: Make
) -> None:
    other = Identity("install2", "exec1", "profile1", "task1", "session1")
    verdict = judge_pod(live(pod), other, make_inventory(pod_uid="uid-1"), pod)
    assert isinstance(verdict, Foreign)


def test_our_claim_is_owned_by_record_and_adopted_by_nonce(
    claim: Json, identity: Identity, make_inventory: Make
) -> None:
    record = make_inventory(claim_uid="uid-1", claim_created_by_us=True)
    assert judge_claim(live(claim), identity, record, claim) == Owned("uid-1")
    crashed = make_inventory(nonces=(CLAIM_NONCE,))
    assert judge_claim(live(claim), identity, crashed, claim) == Owned("uid-1", recorded=False)


def test_a_claim_that_was_there_before_is_never_used_as_ours(
    claim: Json, identity: Identity, make_inventory: Make
) -> None:
    foreign = live(claim)
    foreign["metadata"].pop("annotations")
    assert isinstance(judge_claim(foreign, identity, make_inventory(nonces=(CLAIM_NONCE,)), claim), Foreign)


def test_an_existing_claim_is_never_ours_even_with_every_mark(
    claim: Json, identity: Identity, make_inventory: Make
) -> None:
    spec = WorkspaceSpec(WorkspaceMode.EXISTING_CLAIM, claim_name="moorage-session1-workspace")
    inventory = make_inventory(workspace=spec, claim_uid="uid-1", claim_created_by_us=True)
    assert isinstance(judge_claim(live(claim), identity, inventory, claim), Foreign)


def test_a_claim_recorded_as_not_created_by_us_is_foreign(
    claim: Json, identity: Identity, make_inventory: Make
) -> None:
    inventory = make_inventory(claim_uid="uid-1", claim_created_by_us=False, nonces=(CLAIM_NONCE,))
    assert isinstance(judge_claim(live(claim), identity, inventory, claim), Foreign)


WORDS = st.sampled_from(["", "uid-1", "uid-2", "nonce-0", "nonce-1", "nonce-x"])


@given(
    uid=WORDS,
    recorded=WORDS,
    nonce=WORDS,
    issued=st.lists(WORDS),
    settled=st.booleans(),
    ours=st.booleans(),
    changed=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ours_is_never_said_without_the_recorded_uid_or_a_nonce_we_issued(
    pod: Json,
    identity: Identity,
    make_inventory: Make,
    uid: str,
    recorded: str,
    nonce: str,
    issued: list[str],
    settled: bool,
    ours: bool,
    changed: bool,
) -> None:
    nonces = tuple(IssuedNonce("Pod", "moorage-session1", text, 1.0, settled) for text in issued)
    observed = live(pod, uid)
    observed["metadata"]["annotations"]["moorage.dev/create-nonce"] = nonce
    if not ours:
        observed["metadata"]["labels"]["moorage.dev/session-id"] = "other"
    observed["spec"]["hostPID"] = changed
    verdict = judge_pod(observed, identity, make_inventory(pod_uid=recorded, nonces=nonces), pod)
    if isinstance(verdict, Owned):
        assert ours
        assert uid
        assert uid == recorded or (nonce and nonce in issued)
        assert verdict.recorded == (uid == recorded)
        assert verdict.recorded or not changed
    if isinstance(verdict, Altered):
        assert ours
        assert changed
        assert uid not in ("", recorded)
        assert nonce in issued
        assert not settled
