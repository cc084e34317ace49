"""Removal: what it says it will do, and creates that the API server carries out after everybody has left."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

import pytest

from moorage.core import owned
from moorage.core.errors import SessionFailed
from moorage.core.kinds import CLAIMS, NAMESPACES, PODS, Json, Resource
from moorage.core.session import Phase, Session
from moorage.engine.creation import SEND_WITHIN
from moorage.ports.cluster import ServerIdentity
from moorage.ports.store import Lease
from moorage.sessions import removal
from moorage.sessions.removal import LATE

from .fake_cluster import FORBIDDEN, TIMEOUT, status
from .stage import Stage, until
from .test_creates import nonce_of


async def test_a_dry_run_of_rm_names_what_goes_and_changes_nothing(stage: Stage) -> None:
    session = await stage.running()
    stage.cluster.calls.clear()
    planned = await stage.verbs.remove("calm-cove", stage.said.append, dry_run=True)
    inventory = session.inventory
    assert planned.deletes == (
        f"pod/{inventory.pod_name} (uid {inventory.pod_uid})",
        f"pvc/{inventory.claim_name} (uid {inventory.claim_uid})",
    )
    assert planned.keeps == ()
    assert stage.cluster.writes() == []
    assert (await stage.record()) == session


@pytest.mark.parametrize("resource", [PODS, CLAIMS], ids=["pod", "claim"])
@pytest.mark.parametrize("what", ["cannot be read", "is not ours"])
async def test_what_cannot_be_read_or_is_not_ours_is_not_promised_to_go(
    stage: Stage, resource: Resource, what: str
) -> None:
    session = await stage.running()
    kind = {PODS: "pod", CLAIMS: "pvc"}[resource]
    if what == "cannot be read":
        stage.cluster.fail("get", resource, FORBIDDEN, lasting=True)
    else:
        name = session.inventory.pod_name if resource is PODS else session.inventory.claim_name
        stage.cluster.put(resource, {"metadata": {"name": name}})
    planned = await stage.verbs.remove("calm-cove", stage.said.append, dry_run=True)
    assert not any(line.startswith(kind) for line in planned.deletes)
    assert any(line.startswith(kind) for line in planned.keeps)


async def test_in_another_cluster_nothing_is_promised_to_go(stage: Stage) -> None:
    await stage.running()
    stage.cluster.server = ServerIdentity("https://other.test", "ca-2", "v1.36.0")
    stage.cluster.put(NAMESPACES, {"metadata": {"name": "agents"}})
    planned = await stage.verbs.remove("calm-cove", stage.said.append, dry_run=True)
    assert planned.deletes == ()
    assert "not the recorded cluster" in planned.keeps[0]


async def unanswered(stage: Stage, over: Phase = Phase.DELETED) -> Json:
    """A session whose Pod's create got no answer, removed or archived since; the Pod as it was sent."""
    sent: list[Json] = []
    session = await stage.launch()
    stage.cluster.fail("create", PODS, TIMEOUT)
    stage.cluster.posted = lambda obj: sent.append(deepcopy(obj)) if obj["kind"] == "Pod" else None
    starting = asyncio.create_task(stage.verbs.resume("calm-cove", stage.said.append))
    await until(stage, lambda: bool(sent), starting)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    stage.cluster.posted = lambda obj: None
    if over is Phase.ARCHIVED:
        await stage.verbs.archive("calm-cove", stage.said.append)
    else:
        await stage.verbs.remove("calm-cove", stage.said.append)
    assert (await stage.record(session.id)).state.phase is over
    assert stage.cluster.of(PODS) == []
    return sent[0]


@pytest.mark.parametrize("altered", [False, True], ids=["as sent", "altered by admission"])
@pytest.mark.parametrize("over", [Phase.DELETED, Phase.ARCHIVED])
async def test_a_create_carried_out_after_the_session_was_removed_is_found_and_undone(
    stage: Stage, over: Phase, altered: bool
) -> None:
    pod = await unanswered(stage, over)
    pod["spec"]["hostPID"] = altered
    late = stage.cluster.put(PODS, pod)
    await removal.sweep(stage.parts)
    assert stage.cluster.of(PODS) == [late], "it is looked for once, when no answer can come any more"
    stage.clock.time += LATE + 1
    await removal.sweep(stage.parts)
    assert stage.cluster.of(PODS) == []
    assert stage.cluster.calls[-1].uid == late["metadata"]["uid"]
    assert await stage.store.sessions.tombstones() == []


@pytest.mark.parametrize("nonce", ["", "another"])
async def test_a_late_look_leaves_what_does_not_carry_the_nonce(stage: Stage, nonce: str) -> None:
    pod = await unanswered(stage)
    pod["metadata"]["annotations"] = {owned.NONCE_ANNOTATION: nonce} if nonce else None
    foreign = stage.cluster.put(PODS, pod)
    stage.clock.time += LATE + 1
    await removal.sweep(stage.parts)
    assert stage.cluster.of(PODS) == [foreign]


async def test_a_late_look_leaves_what_does_not_carry_our_labels(stage: Stage) -> None:
    pod = await unanswered(stage)
    pod["metadata"]["labels"][owned.SESSION_LABEL] = "other"
    foreign = stage.cluster.put(PODS, pod)
    stage.clock.time += LATE + 1
    await removal.sweep(stage.parts)
    assert stage.cluster.of(PODS) == [foreign]


async def test_a_request_can_only_leave_long_before_the_last_look(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process stopped between its record and its request, and continued: what it held is not sent."""
    session = await stage.launch()
    save, held = stage.store.sessions.save, False

    async def stopped(record: Session, lease: Lease) -> Session:
        nonlocal held
        saved = await save(record, lease)
        if not held and any(not n.settled for n in record.inventory.nonces):
            held = True
            stage.clock.time += SEND_WITHIN + 1
        return saved

    posts: list[tuple[str, float]] = []
    stage.cluster.posted = lambda obj: posts.append((nonce_of(obj), stage.clock.time))
    monkeypatch.setattr(stage.store.sessions, "save", stopped)
    running = (await stage.verbs.resume(session.id, stage.said.append)).session
    issued = {n.nonce: n for n in running.inventory.nonces}
    assert len(issued) == len(posts) + 1, "the one that was held up is on record, and was not sent"
    assert all(at - issued[nonce].issued_at <= SEND_WITHIN for nonce, at in posts)
    assert all(n.settled for n in issued.values())
    assert SEND_WITHIN <= LATE / 10


async def test_a_late_look_that_failed_is_made_again(stage: Stage) -> None:
    pod = await unanswered(stage)
    stage.cluster.put(PODS, pod)
    stage.clock.time += LATE + 1
    stage.cluster.fail("get", PODS, TIMEOUT)
    await removal.sweep(stage.parts)
    assert len(stage.cluster.of(PODS)) == 1
    await removal.sweep(stage.parts)
    assert stage.cluster.of(PODS) == []


async def test_a_late_look_is_only_made_in_the_recorded_cluster(stage: Stage) -> None:
    pod = await unanswered(stage)
    stage.cluster.put(NAMESPACES, {"metadata": {"name": "agents"}})
    stage.cluster.put(PODS, pod)
    stage.clock.time += LATE + 1
    await removal.sweep(stage.parts)
    assert len(stage.cluster.of(PODS)) == 1


async def test_a_removal_that_waits_for_somebodys_pod_says_how_to_see_which(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim is mounted by a Pod of another name: the cluster keeps it until that one is gone."""
    session = await stage.running()
    delete = stage.cluster.delete

    async def protected(resource: Resource, name: str, *args: Any, **more: Any) -> None:
        if resource is CLAIMS:
            stage.cluster.only(CLAIMS)["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:30Z"
        else:
            await delete(resource, name, *args, **more)

    monkeypatch.setattr(stage.cluster, "delete", protected)
    removing = asyncio.create_task(stage.verbs.remove(session.id, stage.said.append))
    waits = f"kubectl -n agents describe pvc {session.inventory.claim_name}"
    await until(stage, lambda: any(waits in said.message for said in stage.said), removing)
    assert not removing.done()
    stage.cluster.drop(CLAIMS, session.inventory.claim_name)
    await removing
    assert (await stage.record(session.id)).state.phase is Phase.DELETED


@pytest.mark.parametrize("resource", [PODS, CLAIMS], ids=["pod", "claim"])
async def test_a_deletion_we_have_no_right_to_fails_and_the_next_rm_goes_on(
    stage: Stage, resource: Resource
) -> None:
    session = await stage.running()
    stage.cluster.fail("delete", resource, FORBIDDEN)
    with pytest.raises(SessionFailed) as refused:
        await stage.verbs.remove("calm-cove", stage.said.append)
    assert refused.value.details["category"] == "access"
    assert (await stage.record()).state.phase is Phase.FAILED
    assert len(stage.cluster.of(CLAIMS)) == 1
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert (await stage.record(session.id)).state.phase is Phase.DELETED
    assert stage.cluster.of(PODS) == stage.cluster.of(CLAIMS) == []


@pytest.mark.parametrize("resource", [PODS, CLAIMS], ids=["the Pod", "the claim"])
async def test_an_object_that_went_by_itself_does_not_fail_its_removal(
    stage: Stage, resource: Resource
) -> None:
    session = await stage.running()
    name = {PODS: session.inventory.pod_name, CLAIMS: session.inventory.claim_name}[resource]
    stage.cluster.fail("delete", resource, status(404, "NotFound", resource, name), carried_out=True)
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert (await stage.record(session.id)).state.phase is Phase.DELETED
    assert stage.cluster.of(PODS) == stage.cluster.of(CLAIMS) == []
