"""A stop that takes its time, and another wish in the middle of it: the later wish is what comes true."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.core.errors import Conflict
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.session import Phase
from moorage.ports.link import ExitStatus

from .fake_link import FakeLink
from .stage import Stage

HANG = 30.0
"""Seconds after which a test says that it hangs, instead of hanging."""


class SlowEnd:
    """The agent takes its time to end; a test says when it has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.may_end = asyncio.Event(), asyncio.Event()
        drain = FakeLink.drain

        async def slow(link: FakeLink, grace: float) -> ExitStatus:
            self.asked.set()
            await self.may_end.wait()
            return await drain(link, grace)

        monkeypatch.setattr(FakeLink, "drain", slow)


@pytest.mark.parametrize("verb", ["resume", "stop", "pause", "remove"])
async def test_case_187_a_wish_during_a_slow_stop_is_carried_out_after_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    await stage.running()
    agent, slow = stage.agent, SlowEnd(monkeypatch)
    async with asyncio.timeout(HANG):
        stopping = asyncio.create_task(stage.verbs.stop("calm-cove", stage.said.append))
        await slow.asked.wait()
        wishing = asyncio.create_task(getattr(stage.verbs, verb)("calm-cove", stage.said.append))
        await recorded(stage, 3)
        slow.may_end.set()
        told: tuple[Any, Any] = await asyncio.gather(stopping, wishing, return_exceptions=True)
    stopped, wished = told
    assert not isinstance(wished, BaseException), wished
    assert len(agent.starts) == (2 if verb == "resume" else 1)
    kept = {"resume": (1, 1), "stop": (1, 1), "pause": (0, 1), "remove": (0, 0)}
    assert (len(stage.cluster.of(PODS)), len(stage.cluster.of(CLAIMS))) == kept[verb]
    if verb in ("stop", "pause"):
        assert (await stage.record()).state.phase is Phase.PRESERVED
        assert not isinstance(stopped, BaseException), stopped
        return
    assert isinstance(stopped, Conflict)
    overtaken = {
        "resume": "a later resume: the session is running",
        "remove": "a later rm: the session is deleted",
    }
    assert stopped.message == f"stop calm-cove was overtaken by {overtaken[verb]}"
    assert stopped.hint == "to ask again: moorage stop calm-cove"


@pytest.mark.parametrize(("verb", "word"), [("stop", "stopped"), ("pause", "paused")])
async def test_a_resume_that_a_later_stop_or_pause_overtakes_is_not_told_as_done(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verb: str, word: str
) -> None:
    await stage.running()
    agent, slow = stage.agent, SlowEnd(monkeypatch)
    async with asyncio.timeout(HANG):
        stopping = asyncio.create_task(stage.verbs.stop("calm-cove", stage.said.append))
        await slow.asked.wait()
        number = (await stage.record()).intent.number
        resuming = asyncio.create_task(stage.verbs.resume("calm-cove", stage.said.append))
        await recorded(stage, number + 1)
        later = asyncio.create_task(getattr(stage.verbs, verb)("calm-cove", stage.said.append))
        await recorded(stage, number + 2)
        slow.may_end.set()
        told: tuple[Any, ...] = await asyncio.gather(stopping, resuming, later, return_exceptions=True)
    assert not isinstance(told[2], BaseException), told
    assert isinstance(told[1], Conflict)
    assert told[1].message == f"resume calm-cove was overtaken by a later {verb}: the session is {word}"
    assert len(agent.starts) == 1


async def recorded(stage: Stage, number: int) -> None:
    """Until the wish of that number is on record; launch and stop were the first two."""
    while (await stage.record()).intent.number < number:  # noqa: ASYNC110
        await asyncio.sleep(0.01)  # sleep: between two looks at the record
