"""An owner that was stopped and wakes up after another took over changes nothing any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from moorage.core import owned
from moorage.core.errors import ApiError, Conflict
from moorage.core.kinds import CLAIMS, PODS, Resource
from moorage.core.session import Phase, Session
from moorage.ports.link import ExitStatus
from moorage.ports.store import Lease, Owner

from .fake_link import FakeAgent
from .stage import Stage, ended

HANG = 30.0
"""Seconds after which a test says that it hangs, instead of hanging."""


@pytest.mark.parametrize("kind", [PODS, CLAIMS], ids=lambda kind: kind.plural)
async def test_a_removal_whose_lease_was_lost_deletes_nothing_more(
    stage: Stage, kind: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await stage.running()
    renew: Callable[..., object] = stage.store.leases.renew
    asked = 0

    async def lost(*args: object, **more: object) -> bool:
        nonlocal asked
        asked += 1
        return asked <= (0 if kind is PODS else 1) and bool(await renew(*args, **more))  # type: ignore[misc]

    monkeypatch.setattr(stage.store.leases, "renew", lost)
    stage.cluster.calls.clear()
    with pytest.raises(Conflict, match="taken over"):
        await stage.verbs.remove(session.id, stage.said.append)
    assert len(stage.cluster.of(CLAIMS)) == 1
    assert len(stage.cluster.of(PODS)) == (1 if kind is PODS else 0)


async def test_a_start_counts_as_work_before_it_is_sent(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await stage.launch()
    seen: list[Session] = []

    async def note(start_id: str) -> None:
        seen.append(await stage.record())

    found = stage.agent_of

    def watched(uid: str) -> FakeAgent:
        agent = found(uid)
        agent.starting = note
        return agent

    monkeypatch.setattr(stage, "agent_of", watched)
    await stage.verbs.resume(session.id, stage.said.append)
    assert [record.ever_ran for record in seen] == [True]


class Killed(BaseException):
    """The process is gone once its request has left."""


@pytest.mark.parametrize("kind", [PODS, CLAIMS], ids=lambda kind: kind.plural)
async def test_a_delete_that_a_killed_removal_had_sent_comes_too_late_for_who_goes_on(
    stage: Stage, kind: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rm` is killed, somebody wants the session back, and only then the API server gets to the request."""
    session = await stage.running()
    in_the_air: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    delete = stage.cluster.delete

    async def killed(*args: Any, **more: Any) -> None:
        if args[0] is not kind:
            return await delete(*args, **more)
        in_the_air.append((args, more))
        raise Killed

    with monkeypatch.context() as short_lived:
        short_lived.setattr(stage.cluster, "delete", killed)
        with pytest.raises(Killed):
            await stage.verbs.remove(session.id, stage.said.append, force=True)
    await stage.verbs.resume(session.id, stage.said.append)
    args, more = in_the_air[0]
    with pytest.raises(ApiError) as refused:
        await delete(*args, **more)
    assert refused.value.problem.reason == "Conflict"
    assert "deletionTimestamp" not in stage.cluster.only(kind)["metadata"]


def _dead(ours: Owner) -> Owner:
    return replace(ours, started="0")  # that pid has been given to another process since


def _elsewhere(ours: Owner) -> Owner:
    return replace(ours, host="another-host")


@pytest.mark.parametrize("former", [_dead, _elsewhere], ids=["dead", "may wake up"])
async def test_each_takeover_marks_pod_and_claim_and_a_lease_let_go_of_does_not(
    stage: Stage, former: Callable[[Owner], Owner]
) -> None:
    session = await stage.running()
    for let_go in (True, False):
        lease = await stage.store.leases.acquire(session.id, former(stage.parts.owner), ttl=0.0)
        assert lease is not None
        if let_go:
            await stage.store.leases.release(lease)
        await stage.verbs.resume(session.id, stage.said.append)
        for kind in (PODS, CLAIMS):
            annotations = stage.cluster.only(kind)["metadata"]["annotations"]
            assert annotations.get(owned.FENCE_ANNOTATION) == (None if let_go else str(lease.fence + 1))


async def test_a_verb_and_a_follower_of_one_process_do_not_take_the_session_from_each_other(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await stage.running()
    acquire, asked = stage.store.leases.acquire, asyncio.Event()

    async def noted(*args: Any, **more: Any) -> Lease | None:
        lease = await acquire(*args, **more)
        asked.set()
        return lease

    monkeypatch.setattr(stage.store.leases, "acquire", noted)
    following = asyncio.create_task(stage.attend(ended))
    async with asyncio.timeout(HANG):
        await asked.wait()  # the follower drives from now on
        view = await stage.verbs.reset("calm-cove", stage.said.append)
        assert view.session.state.phase is Phase.RUNNING
        assert view.session.inventory.pod_uid != first.inventory.pod_uid
        await stage.verbs.stop("calm-cove", stage.said.append)
        assert ended((await following)[-1])
    assert any("is driven by" in said.message for said in stage.said)
    assert [call.verb for call in stage.cluster.calls if call.plural == PODS.plural].count("create") == 2


async def test_who_is_told_of_the_end_may_drive_the_session_at_once(stage: Stage) -> None:
    session = await stage.running()
    attachment = stage.verbs.attach("calm-cove")
    stage.agent.end(ExitStatus(code=0))
    async with asyncio.timeout(HANG):
        async for happening in attachment.happenings():
            if ended(happening):
                assert await stage.store.leases.holder(session.id) == ""
                await stage.verbs.resume("calm-cove", stage.said.append)
    await attachment.close()
    assert len(stage.agent.starts) == 2
