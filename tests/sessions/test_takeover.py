"""An owner that was stopped and wakes up after another took over changes nothing any more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from moorage.core.errors import Conflict
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.session import Session

from .fake_link import FakeAgent
from .stage import Stage


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
