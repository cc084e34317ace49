"""A cluster that is gone for good: its sessions leave the list by force, and nothing of it is touched."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from moorage.core.errors import Conflict, IdentityChanged, MoorageError, NotFound, Unreachable
from moorage.core.kinds import CLAIMS, NAMESPACES, PODS
from moorage.core.session import Session
from moorage.ports.cluster import ServerIdentity
from moorage.ports.sessions import Removal
from moorage.sessions import views
from moorage.sessions.executors import ExecutorConfig

from .stage import Stage
from .test_unreachable import EXPIRED, failing, given_up, lose
from .test_unreadable import objects


async def forced(stage: Stage) -> Removal:
    """``rm --force``, with all the patience that it has."""
    task = asyncio.create_task(stage.verbs.remove("calm-cove", stage.said.append, force=True))
    await failing(stage, task)
    assert not task.done(), "it waits for the server first"
    stage.clock.time += stage.parts.patience
    await failing(stage, task)
    return await task


async def rebuilt(stage: Stage) -> None:
    """Another cluster answers under the same context."""
    stage.cluster.server = ServerIdentity("https://other.test", "ca-2", "v1.36.0")
    stage.cluster.put(NAMESPACES, {"metadata": {"name": "agents"}})


async def gone(stage: Stage, session: Session) -> None:
    with pytest.raises(NotFound):
        await stage.record()
    assert await stage.verbs.list_views(include_archived=True) == []
    for ref in (session.inventory.bootstrap_ref, session.agent.env_ref):
        with pytest.raises(NotFound):
            await stage.store.secrets.get(ref)
    assert await stage.store.sessions.tombstones() == [], "no later command looks there any more"


async def test_forced_it_names_what_may_be_left_and_removes_the_record_alone(stage: Stage) -> None:
    session = await stage.running(env={"TOKEN": "planted"})
    before = stage.cluster.writes()
    lose(stage)
    done = await forced(stage)
    assert done.deletes == ()
    said = " ".join(progress.message for progress in stage.said)
    for told in (*objects(session), f"moorage.dev/session-id={session.id}", "Connection refused"):
        assert told in said
    for told in objects(session):
        assert any(told in line for line in done.keeps)
    assert stage.cluster.writes() == before
    assert len(stage.cluster.of(PODS)) == len(stage.cluster.of(CLAIMS)) == 1
    await gone(stage, session)


@pytest.mark.parametrize(
    ("force", "end"),
    [
        (True, "no answer within 30 s: the record alone goes, with output and history"),
        (False, "no answer within 30 s: nothing is removed"),
    ],
)
async def test_a_dry_run_says_what_is_on_record_since_when_and_how_it_would_end(
    stage: Stage, force: bool, end: str
) -> None:
    session = await stage.running()
    lose(stage)
    plan = await stage.verbs.remove("calm-cove", stage.said.append, force=force, dry_run=True)
    assert plan.deletes == ()
    why, pod, claim, last = plan.keeps
    assert "Connection refused" in why
    for line, known in zip((pod, claim), objects(session), strict=True):
        assert known in line
        assert (
            ": on record, running since 2027-01-15T08:00:00Z; would be looked for, and deleted only" in line
        )
    assert last == end
    assert (await stage.record()).intent.number == 2, "a dry run puts no wish on record"


async def test_a_dry_run_tells_a_removal_that_was_asked_for_before(stage: Stage) -> None:
    await stage.running()
    lose(stage)
    await given_up(stage, stage.verbs.remove("calm-cove", stage.said.append), stage.parts.patience)
    plan = await stage.verbs.remove("calm-cove", stage.said.append, dry_run=True)
    assert "to be deleted since 2027-01-15T08:00:00Z: asked for, not finished" in plan.keeps


async def test_a_dry_run_that_is_refused_says_that_nothing_would_go(stage: Stage) -> None:
    await stage.running()
    lose(stage, EXPIRED)
    plan = await stage.verbs.remove("calm-cove", stage.said.append, force=True, dry_run=True)
    assert plan.keeps[-1] == "a refusal is an answer: nothing is removed until the right is granted"


async def test_unforced_it_stays_and_the_way_out_is_told(stage: Stage) -> None:
    await stage.running()
    lose(stage)
    error = await given_up(stage, stage.verbs.remove("calm-cove", stage.said.append), stage.parts.patience)
    assert isinstance(error, Unreachable)
    assert "gone for good, the record alone goes with: moorage rm --force calm-cove" in error.hint
    assert (await stage.record()).name == "calm-cove"


async def test_one_whose_executor_is_not_on_record_can_be_removed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await stage.running(env={"TOKEN": "planted"})

    async def nowhere(asked: Session) -> None:
        raise NotFound("the executor is not on record")

    monkeypatch.setattr(stage.parts.executors, "of", nowhere)
    await stage.verbs.remove("calm-cove", stage.said.append, force=True)
    await gone(stage, session)


async def test_one_in_whose_place_another_cluster_answers_can_be_removed(stage: Stage) -> None:
    session = await stage.running(env={"TOKEN": "planted"})
    await rebuilt(stage)
    before = stage.cluster.writes()
    await stage.verbs.remove("calm-cove", stage.said.append, force=True)
    assert stage.cluster.writes() == before
    await gone(stage, session)


async def test_a_wrong_context_costs_no_record(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await stage.running()
    await rebuilt(stage)
    elsewhere = ExecutorConfig("", "another", "agents")

    async def recorded(asked: Session) -> ExecutorConfig:
        return elsewhere

    async def cluster(config: ExecutorConfig) -> object:
        return object() if config == elsewhere else stage.cluster

    monkeypatch.setattr(stage.parts.executors, "recorded", recorded)
    monkeypatch.setattr(stage.parts.executors, "cluster", cluster)
    with pytest.raises(IdentityChanged):
        await stage.verbs.remove("calm-cove", stage.said.append, force=True)
    assert (await stage.record()).id == session.id


async def test_a_server_that_refuses_us_is_there_and_costs_no_record(stage: Stage) -> None:
    await stage.running()
    lose(stage, EXPIRED)
    with pytest.raises(MoorageError, match="Unauthorized"):
        await stage.verbs.remove("calm-cove", stage.said.append, force=True)
    assert (await stage.record()).name == "calm-cove"


async def test_one_that_another_process_drives_is_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await stage.running()
    lose(stage)

    async def unreachable(*args: object, **more: object) -> None:
        raise Unreachable("no answer")

    monkeypatch.setattr(stage.verbs, "_wish", unreachable)
    other = replace(stage.parts.owner, host="another-host")
    assert await stage.store.leases.acquire(session.id, other) is not None
    with pytest.raises(Conflict, match="is driven by"):
        await stage.verbs.remove("calm-cove", stage.said.append, force=True)
    assert (await stage.record()).name == "calm-cove"


async def test_a_list_waits_once_for_a_server_that_does_not_answer(stage: Stage) -> None:
    session = await stage.running()
    lose(stage)
    stage.cluster.calls.clear()
    rows = await views.views(stage.parts, [session] * 100)
    assert {row.unknown for row in rows} == {"https://api.test: Connection refused"}
    assert {row.context for row in rows} == {"test"}
    assert len(stage.cluster.calls) <= views.AT_ONCE


async def test_a_look_that_was_denied_says_nothing_about_other_sessions(stage: Stage) -> None:
    session = await stage.running()
    stage.cluster.fail("get", PODS, EXPIRED)
    rows = await views.views(stage.parts, [session] * 40)
    assert [row.unknown != "" for row in rows].count(True) == 1
