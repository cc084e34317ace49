"""Cases about resuming: whatever goes wrong on the way, no workspace goes and none is doubled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.core.errors import ApiProblem, MoorageError
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.session import Phase, change

from .fake_cluster import FORBIDDEN, PROXY_404, TIMEOUT
from .stage import Stage, ended, until

RACE = 'Operation cannot be fulfilled on resourcequotas "team": the object has been modified'
PROBLEMS = {
    "no answer": TIMEOUT,
    "denied": FORBIDDEN,
    "a proxy's page": PROXY_404,
    "not signed in": ApiProblem("status", 401, "Unauthorized", "Unauthorized", "no"),
    "a conflict": ApiProblem("status", 409, "Conflict", "the object has been modified", "no"),
    "invalid": ApiProblem("status", 422, "Invalid", "spec is invalid", "no"),
    "too many": ApiProblem("status", 429, "TooManyRequests", "slow down", "no"),
    "a fault of the server": ApiProblem("status", 500, "InternalError", "etcd", "maybe"),
}
TURNS = 60
"""Turns of the event loop in which a command that can go on has gone on."""


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def met(stage: Stage) -> set[tuple[str, str]]:
    """What the cluster was asked for."""
    return {(call.verb, call.plural) for call in stage.cluster.calls}


async def left(work: asyncio.Future[Any]) -> None:
    """Its person leaves."""
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=[f"case 95: {name}" for name in PROBLEMS])
async def test_no_error_on_the_way_costs_the_claim(stage: Stage, problem: ApiProblem) -> None:
    claim = (await stage.running()).inventory.claim_uid
    await stage.verbs.pause("calm-cove", stage.said.append)
    for verb, kind in (("get", PODS), ("get", CLAIMS), ("create", PODS)):
        stage.cluster.calls.clear()
        stage.cluster.fail(verb, kind, problem, lasting=True)
        resuming = asyncio.ensure_future(stage.verbs.resume("calm-cove", stage.said.append))
        asked = (verb, kind.plural)
        await until(stage, lambda asked=asked: asked in met(stage), resuming)  # type: ignore[misc]
        await turns(TURNS)
        await left(resuming)
        assert not [line for line in stage.cluster.writes() if line.startswith("delete")]
        stage.cluster.faults.clear()
    assert stage.cluster.only(CLAIMS)["metadata"]["uid"] == claim


@pytest.mark.parametrize("field", ["pod_uid", "claim_uid", "namespace"], ids=lambda name: f"case 18: {name}")
async def test_a_record_with_a_gap_makes_nothing(stage: Stage, field: str) -> None:
    session = await stage.running()
    lease = await stage.store.leases.acquire(session.id, stage.parts.owner)
    assert lease is not None
    gap = change(session, inventory=change(session.inventory, **{field: ""}))
    await stage.store.sessions.save(gap, lease)
    await stage.store.leases.release(lease)
    stage.cluster.calls.clear()
    with pytest.raises(MoorageError):
        await stage.verbs.resume("calm-cove", stage.said.append)
    assert [line for line in stage.cluster.writes() if not line.startswith("patch")] == []
    assert (len(stage.cluster.of(PODS)), len(stage.cluster.of(CLAIMS))) == (1, 1)


async def test_a_race_for_the_quota_is_no_object_of_our_name(stage: Stage) -> None:
    stage.cluster.fail("create", PODS, ApiProblem("status", 409, "Conflict", RACE, "no"))
    session = await stage.running()
    assert session.state.phase is Phase.RUNNING
    assert [line.partition("/")[0] for line in stage.cluster.writes()].count("create pods") == 2


async def test_a_person_who_leaves_at_any_moment_ends_no_agent(stage: Stage) -> None:
    await stage.running()
    for moment in range(0, 200, 8):
        following = asyncio.ensure_future(stage.attend(ended))
        await turns(moment)
        await left(following)
        record = await stage.record()
        assert (record.state.phase, record.run.exit if record.run else None) == (Phase.RUNNING, None)
    assert len(stage.agent.starts) == 1
