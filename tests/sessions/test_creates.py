"""A create is proved: its nonce is on record before it is sent; what came of it is read, never guessed."""

from __future__ import annotations

import pytest

from moorage.core import owned
from moorage.core.errors import ApiProblem, NameBlocked, SessionFailed
from moorage.core.kinds import CLAIMS, MUTATING_WEBHOOKS, PODS, Json, Resource
from moorage.core.session import Phase, Session, State, change
from moorage.engine.creation import Creation
from moorage.engine.failure import ActionFailed
from moorage.system import SystemIds

from .fake_cluster import TIMEOUT, Call
from .stage import Stage

DELETE_DENIED = ApiProblem("status", 403, "Forbidden", "cannot delete pods", "no")
BOTH = pytest.mark.parametrize("resource", [PODS, CLAIMS], ids=["pod", "claim"])


def nonce_of(obj: Json) -> str:
    return str(obj["metadata"]["annotations"][owned.NONCE_ANNOTATION])


async def test_the_nonce_is_on_record_before_the_request_leaves(stage: Stage) -> None:
    session, stored, open_then = await stage.launch(), [], []

    async def save(record: Session) -> Session:
        stored.append(record)
        return record

    def posted(obj: Json) -> None:
        latest = stored[-1].inventory.nonces if stored else ()
        open_then.append([n.nonce for n in latest if not n.settled] == [nonce_of(obj)])

    def build(record: Session, nonce: str) -> Json:
        return {"metadata": {"name": "x", "annotations": {owned.NONCE_ANNOTATION: nonce}}}

    stage.cluster.posted = posted
    creation = Creation(stage.cluster, stage.clock, SystemIds(), save)
    made, uid = await creation.create(session, PODS, "x", build, lambda sent, admitted: ())
    assert open_then == [True]
    assert uid == stage.cluster.only(PODS)["metadata"]["uid"]
    assert [n.settled for n in made.inventory.nonces] == [True], "an answered create may not answer again"


async def test_each_create_has_a_nonce_of_its_own(stage: Stage) -> None:
    await stage.running()
    await stage.verbs.pause("calm-cove", stage.said.append)
    session = (await stage.verbs.resume("calm-cove", stage.said.append)).session
    nonces = [n.nonce for n in session.inventory.nonces]
    assert len(set(nonces)) == len(nonces) == 3
    assert all(len(nonce) == 64 for nonce in nonces)


@BOTH
async def test_a_create_whose_answer_is_lost_is_looked_up_and_adopted_not_repeated(
    stage: Stage, resource: Resource
) -> None:
    stage.cluster.fail("create", resource, TIMEOUT, carried_out=True)
    session = await stage.running()
    assert stage.cluster.writes().count(str(Call("create", resource.plural, name_in(session, resource)))) == 1
    assert uid_in(session, resource) == stage.cluster.only(resource)["metadata"]["uid"]
    assert session.inventory.claim_created_by_us
    assert all(n.settled for n in session.inventory.nonces), "what was adopted spends its nonce"


@BOTH
async def test_a_create_that_was_sent_twice_on_the_way_is_still_adopted(
    stage: Stage, resource: Resource
) -> None:
    """Something between us and the API server repeats the request: the second answer is AlreadyExists."""
    kind = resource.kind
    stage.cluster.posted = lambda obj: twice(stage, obj, kind)
    session = await stage.running()
    assert uid_in(session, resource) == stage.cluster.only(resource)["metadata"]["uid"]


def twice(stage: Stage, obj: Json, kind: str) -> None:
    if obj["kind"] == kind:
        stage.cluster.put(PODS if kind == "Pod" else CLAIMS, obj)
        stage.cluster.posted = lambda obj: None


async def test_a_create_that_was_never_carried_out_is_made_again(stage: Stage) -> None:
    stage.cluster.fail("create", PODS, TIMEOUT)
    session = await stage.running()
    assert session.state.phase is Phase.RUNNING
    assert len([line for line in stage.cluster.writes() if line.startswith("create pods")]) == 2


async def test_a_lost_answer_is_not_taken_from_an_object_that_somebody_else_made(stage: Stage) -> None:
    session = await stage.launch()
    stage.cluster.fail("create", PODS, TIMEOUT)
    foreign = {"metadata": {"name": session.inventory.pod_name}}
    stage.cluster.posted = lambda obj: None
    stage.cluster.admission = lambda obj: None
    original = stage.cluster.create

    async def create(resource: Resource, obj: Json, *args: object, **more: bool) -> Json:
        if resource is PODS and not more.get("dry_run"):
            stage.cluster.put(PODS, foreign)
        return await original(resource, obj, None, dry_run=bool(more.get("dry_run")))

    stage.cluster.create = create  # type: ignore[method-assign, assignment]
    with pytest.raises(NameBlocked):
        await stage.verbs.resume("calm-cove", stage.said.append)
    assert not any(line.startswith("delete") for line in stage.cluster.writes())
    assert stage.delivered == set()


def webhooks(name: str, plural: str) -> Json:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": [plural], "operations": ["CREATE"]}
    return {"metadata": {"name": name}, "webhooks": [{"name": f"{name}.test", "rules": [rule]}]}


def renamed_command(obj: Json) -> None:
    if obj["kind"] == "Pod":
        obj["spec"]["containers"][0]["command"] = ["other"]


async def test_an_owned_field_that_admission_changed_costs_exactly_that_object(stage: Stage) -> None:
    session = await stage.launch()
    stage.cluster.put(MUTATING_WEBHOOKS, webhooks("meddler", "pods"))
    stage.cluster.put(MUTATING_WEBHOOKS, webhooks("innocent", "secrets"))
    stage.cluster.admission = renamed_command
    with pytest.raises(SessionFailed, match=r"spec\.containers\[agent\]\.command") as failed:
        await stage.verbs.resume("calm-cove", stage.said.append)
    assert failed.value.details["category"] == "admission"
    assert "meddler" in str(failed.value)
    assert "innocent" not in str(failed.value)
    deletes = [call for call in stage.cluster.calls if call.verb == "delete"]
    assert [(call.plural, call.name) for call in deletes] == [("pods", session.inventory.pod_name)]
    assert stage.cluster.of(PODS) == []
    assert stage.delivered == set(), "nothing of ours ran in it"
    assert len(stage.cluster.of(CLAIMS)) == 1


@pytest.mark.parametrize(("lasting", "category"), [(False, "admission"), (True, "access")])
async def test_a_changed_object_that_cannot_be_removed_is_not_used_either(
    stage: Stage, lasting: bool, category: str
) -> None:
    await stage.launch()
    stage.cluster.admission = renamed_command
    stage.cluster.fail("delete", PODS, DELETE_DENIED if lasting else TIMEOUT, lasting=lasting)
    with pytest.raises(SessionFailed) as failed:
        await stage.verbs.resume("calm-cove", stage.said.append)
    assert failed.value.details["category"] == category
    assert len(stage.cluster.of(PODS)) == (1 if lasting else 0)
    assert stage.delivered == set()
    assert "start" not in {told.step for told in stage.said}, "nothing that it does is told as the session's"


async def test_a_sidecar_put_first_changes_nothing(stage: Stage) -> None:
    def add_sidecar(obj: Json) -> None:
        if obj["kind"] == "Pod":
            obj["spec"]["containers"].insert(0, {"name": "mesh", "image": "mesh"})

    stage.cluster.admission = add_sidecar
    session = await stage.running()
    assert session.state.phase is Phase.RUNNING
    assert (await stage.verbs.view("calm-cove")).container_state == "running"


async def test_a_crash_between_create_and_record_is_made_good_by_adoption(stage: Stage) -> None:
    session = await stage.running()
    lease = await stage.store.leases.acquire(session.id, stage.parts.owner)
    assert lease is not None
    nonces = tuple(change(n, settled=False) for n in session.inventory.nonces)
    forgot = change(session.inventory, pod_uid="", claim_uid="", claim_created_by_us=False, nonces=nonces)
    starting = State(Phase.SCHEDULING, stage.clock.now())
    await stage.store.sessions.save(change(session, inventory=forgot, state=starting), lease)
    await stage.store.leases.release(lease)
    again = (await stage.verbs.resume("calm-cove", stage.said.append)).session
    assert again.inventory.pod_uid == session.inventory.pod_uid
    assert again.inventory.claim_uid == session.inventory.claim_uid
    assert again.inventory.claim_created_by_us


async def test_a_create_that_fails_leaves_its_reason_with_the_session(stage: Stage) -> None:
    session = await stage.launch()
    creation = Creation(stage.cluster, stage.clock, SystemIds(), no_save)
    stage.cluster.fail("create", PODS, TIMEOUT)
    with pytest.raises(ActionFailed) as failed:
        await creation.create(session, PODS, "x", lambda record, nonce: {"metadata": {"name": "x"}}, nothing)
    assert failed.value.diagnosis.category == "timeout"
    assert not any(call.verb == "get" and call.plural == "pods" for call in stage.cluster.calls)


async def no_save(session: Session) -> Session:
    return session


def nothing(sent: Json, admitted: Json) -> tuple[()]:
    return ()


def name_in(session: Session, resource: Resource) -> str:
    return session.inventory.pod_name if resource is PODS else session.inventory.claim_name


def uid_in(session: Session, resource: Resource) -> str:
    return session.inventory.pod_uid if resource is PODS else session.inventory.claim_uid
