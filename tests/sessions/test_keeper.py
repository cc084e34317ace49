"""A server drives what nobody else does, and lets go of it without ending an agent."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from moorage.core.errors import ApiError, ApiProblem
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.session import Desired, Intent, Phase, Session
from moorage.ports.link import ExitStatus
from moorage.ports.store import Lease, Owner
from moorage.sessions.keeper import Keeper

from .stage import NOW, Stage

ANOTHER = Owner("another-host", 1, "then")


@contextlib.asynccontextmanager
async def kept(stage: Stage) -> AsyncIterator[Keeper]:
    keeper = Keeper(stage.parts)
    running = asyncio.create_task(keeper.run())
    try:
        yield keeper
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def comes(stage: Stage, holds: Callable[[Session], bool]) -> Session:
    """The record once it holds. A keeper that does nothing makes this hang, which the test's limit ends."""
    while not holds(session := await stage.record()):
        await asyncio.sleep(0)
        stage.cluster.wake()
    return session


def wish(desired: Desired) -> Intent:
    return Intent(desired=desired, at=NOW)


async def test_a_launched_session_runs_without_anybody_who_follows_it(stage: Stage) -> None:
    session = await stage.launch()
    async with kept(stage) as keeper:
        await comes(stage, lambda record: record.state.phase is Phase.RUNNING)
        assert keeper.driven == {session.id}
    assert len(stage.cluster.of(PODS)) == 1


async def test_a_server_that_ends_leaves_the_agent_running_and_the_session_to_others(stage: Stage) -> None:
    session = await stage.launch()
    async with kept(stage):
        await comes(stage, lambda record: record.state.phase is Phase.RUNNING)
    assert await stage.store.leases.holder(session.id) == ""
    assert (await stage.record()).state.phase is Phase.RUNNING
    assert not any(line.startswith(("drain", "signal")) for line in stage.log)


@pytest.mark.parametrize(
    ("desired", "phase", "pods", "claims"),
    [
        (Desired.STOPPED, Phase.PRESERVED, 1, 1),
        (Desired.PAUSED, Phase.PRESERVED, 0, 1),
        (Desired.ARCHIVED, Phase.ARCHIVED, 0, 0),
        (Desired.DELETED, Phase.DELETED, 0, 0),
    ],
)
async def test_a_wish_on_record_is_carried_out(
    stage: Stage, desired: Desired, phase: Phase, pods: int, claims: int
) -> None:
    session = await stage.running()
    await stage.store.sessions.set_intent(session.id, wish(desired))
    async with kept(stage):

        def over(record: Session) -> bool:
            return record.state.phase is phase and record.seen_intent == record.intent.number

        while not over(await stage.store.sessions.get(session.id)):
            await asyncio.sleep(0)
            stage.cluster.wake()
    assert (len(stage.cluster.of(PODS)), len(stage.cluster.of(CLAIMS))) == (pods, claims)


async def test_the_end_of_an_agent_is_recorded_and_then_nothing_is_driven(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.running()
    taken: list[str] = []
    acquire = stage.store.leases.acquire

    async def noted(session_id: str, owner: Owner, *, ttl: float = 15.0) -> Lease | None:
        taken.append(session_id)
        return await acquire(session_id, owner, ttl=ttl)

    monkeypatch.setattr(stage.store.leases, "acquire", noted)
    async with kept(stage) as keeper:
        stage.agent.end(ExitStatus(code=3))
        session = await comes(stage, lambda record: record.state.phase is Phase.PRESERVED)
        assert session.run is not None
        assert session.run.exit is not None
        assert session.run.exit.code == 3
        await comes(stage, lambda _: not keeper.driven)
        taken.clear()
        for _ in range(20):
            keeper.nudge()
            await asyncio.sleep(0.002)  # sleep: nothing is to happen
        assert taken == []


async def test_what_another_process_drives_is_left_to_it_until_it_lets_go(stage: Stage) -> None:
    session = await stage.running()
    lease = await stage.store.leases.acquire(session.id, ANOTHER)
    assert lease is not None
    await stage.store.sessions.set_intent(session.id, wish(Desired.DELETED))
    async with kept(stage) as keeper:
        stage.cluster.calls.clear()
        for _ in range(20):
            keeper.nudge()
            await asyncio.sleep(0.001)  # sleep: nothing is to happen
        assert stage.cluster.calls == []
        await stage.store.leases.release(lease)
        while (await stage.store.sessions.get(session.id)).state.phase is not Phase.DELETED:
            keeper.nudge()
            await asyncio.sleep(0)
            stage.cluster.wake()
    assert stage.cluster.of(PODS) == []


async def test_one_session_that_cannot_be_driven_rests_longer_each_time_and_keeps_no_other_back(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await stage.launch()
    tries: list[float] = []
    found = stage.parts.executors.of

    async def away(asked: Session) -> Any:
        if asked.id == session.id:
            tries.append(stage.clock.time)
            raise ApiError(ApiProblem("transport", message="no answer"))
        return await found(asked)

    monkeypatch.setattr(stage.parts.executors, "of", away)
    other = await stage.launch(name="other-one")
    async with kept(stage) as keeper:
        while (await stage.record("other-one")).state.phase is not Phase.RUNNING:
            await asyncio.sleep(0)
            stage.cluster.wake()
        for _ in range(20):
            keeper.nudge()
            await asyncio.sleep(0.002)  # sleep: nothing is to happen
        assert len(tries) == 1, "time stands still here"
        while len(tries) < 5:
            stage.clock.time += 0.5
            keeper.nudge()
            await asyncio.sleep(0)
        assert other.id in keeper.driven
    rests = [after - before for before, after in itertools.pairwise(tries)]
    assert all(rest >= least for rest, least in zip(rests, (1, 2, 4, 8), strict=True))
