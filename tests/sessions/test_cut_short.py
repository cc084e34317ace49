"""A stop cut short by a crash of the command, and then a wish to run: the agent runs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from moorage.core.errors import LinkError
from moorage.core.session import Phase, State, change
from moorage.ports.link import ExitStatus, Gap, Output

from .fake_link import FakeLink
from .stage import Stage, shown


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


@pytest.mark.parametrize("verb", ["stop", "pause", "archive"])
async def test_last_words_that_a_broken_link_kept_back_are_read_over_a_new_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Also where the Pod, with all that it holds of them, goes next."""
    session = await stage.running()
    stage.agent.last_words = b"bye\n"
    output, readings = FakeLink.output, 0

    async def once_broken(link: FakeLink, offset: int) -> AsyncIterator[Output | Gap]:
        nonlocal readings
        readings += 1
        if readings == 1:
            await link.wait_exit()
            raise LinkError("cut")
        async for item in output(link, offset):
            yield item

    monkeypatch.setattr(FakeLink, "output", once_broken)
    await getattr(stage.verbs, verb)("calm-cove", stage.said.append)
    stored = await stage.store.transcripts.read(session.id, 0)
    assert shown([part for part in stored if isinstance(part, Output)]).endswith(b"bye\n")
    assert stage.log.count("drain") == 1


async def test_a_link_that_breaks_each_time_is_said_and_does_not_hold_up_the_stop(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.running()

    async def broken(link: FakeLink, offset: int) -> AsyncIterator[Output | Gap]:
        await link.wait_exit()
        raise LinkError("cut")
        yield Gap(offset, 0)

    monkeypatch.setattr(FakeLink, "output", broken)
    view = await stage.verbs.stop("calm-cove", stage.said.append)
    assert view.session.state.phase is Phase.PRESERVED
    assert any("output may be incomplete" in said.message for said in stage.said)
