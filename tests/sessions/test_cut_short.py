"""A stop cut short by a crash of the command, and then a wish to run: the agent runs."""

from __future__ import annotations

import pytest

from moorage.core.session import Phase, State, change
from moorage.ports.link import ExitStatus

from .stage import Stage


@pytest.mark.parametrize(
    ("ended", "starts"), [(True, 2), (False, 1)], ids=["after the drain", "before the drain"]
)
async def test_resume_after_a_stop_cut_short_leaves_the_agent_running(
    stage: Stage, ended: bool, starts: int
) -> None:
    """An agent that we ended did not end by itself: its exit is no answer to the wish to run."""
    session = await stage.running()
    lease = await stage.store.leases.acquire(session.id, stage.parts.owner)
    assert lease is not None
    draining = State(Phase.DRAINING, stage.clock.now())
    await stage.store.sessions.save(change(session, state=draining), lease)
    await stage.store.leases.release(lease)
    if ended:
        stage.agent.end(ExitStatus(signal=15))

    await stage.verbs.resume(session.name, stage.said.append)
    assert (await stage.record()).state.phase is Phase.RUNNING
    assert stage.agent.state == "running"
    assert len(stage.agent.starts) == starts
