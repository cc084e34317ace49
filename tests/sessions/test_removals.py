"""Removal: what it says it will do, and creates that the API server carries out after everybody has left."""

from __future__ import annotations

import asyncio
from copy import deepcopy

import pytest

from moorage.core import owned
from moorage.core.kinds import CLAIMS, NAMESPACES, PODS, Json
from moorage.core.session import Phase
from moorage.sessions import removal
from moorage.sessions.removal import LATE

from .fake_cluster import FORBIDDEN, TIMEOUT
from .stage import Stage, until


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


async def test_what_cannot_be_read_or_is_not_ours_is_not_promised_to_go(stage: Stage) -> None:
    session = await stage.running()
    stage.cluster.fail("get", PODS, FORBIDDEN)
    stage.cluster.put(CLAIMS, {"metadata": {"name": session.inventory.claim_name}})
    planned = await stage.verbs.remove("calm-cove", stage.said.append, dry_run=True)
    assert planned.deletes == ()
    assert [line.partition(" ")[0].partition("/")[0] for line in planned.keeps] == ["pod", "pvc"]


async def unanswered(stage: Stage) -> Json:
    """A session whose Pod's create got no answer, removed since; returns the Pod as it was sent."""
    sent: list[Json] = []
    session = await stage.launch()
    stage.cluster.fail("create", PODS, TIMEOUT)
    stage.cluster.posted = lambda obj: sent.append(deepcopy(obj)) if obj["kind"] == "Pod" else None
    starting = asyncio.create_task(stage.verbs.resume("calm-cove", stage.said.append))
    await until(stage, lambda: bool(sent), starting)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    stage.cluster.posted = lambda obj: None
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert (await stage.record(session.id)).state.phase is Phase.DELETED
    assert stage.cluster.of(PODS) == []
    return sent[0]


async def test_a_create_carried_out_after_the_session_was_removed_is_found_and_undone(stage: Stage) -> None:
    pod = await unanswered(stage)
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
