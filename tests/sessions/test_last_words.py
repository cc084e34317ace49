"""What an agent wrote last, when its container ends before it was fetched: fetched once the container is
back, or told as missing. Never silence.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.core.kinds import PODS, Json
from moorage.core.plans.leaving import BETWEEN_STARTS, RETURN_LIMIT
from moorage.ports.link import ExitStatus, Gap, Output
from moorage.ports.sessions import Progress

from .stage import Stage, rounds, until

LAST = b"last words\n"


def container(stage: Stage, state: str) -> None:
    """The kubelet says that the main container is running, or waiting for its next start."""
    pod = stage.cluster.only(PODS)
    states: dict[str, Json] = {
        "running": {"running": {"startedAt": "2027-01-15T08:01:00Z"}},
        "waiting": {"waiting": {"reason": "CrashLoopBackOff"}},
    }
    pod["status"]["containerStatuses"][0].update(state=states[state], ready=state == "running")
    stage.cluster.wake()


async def crashed(stage: Stage) -> None:
    """A session whose container ended in the moment in which its agent had written something."""
    await stage.running()
    agent = stage.agent
    agent.write(LAST)
    agent.end(ExitStatus())
    agent.epoch = "epoch-2"
    agent.cut()
    container(stage, "waiting")


def asked(stage: Stage, verb: str) -> asyncio.Task[Any]:
    verbs, say = stage.verbs, stage.said.append
    doing = {
        "pause": lambda: verbs.pause("calm-cove", say),
        "archive": lambda: verbs.archive("calm-cove", say),
        "archive --force": lambda: verbs.archive("calm-cove", say, force=True),
        "stop": lambda: verbs.stop("calm-cove", say),
    }
    return asyncio.ensure_future(doing[verb]())


async def waits(stage: Stage, task: asyncio.Task[Any]) -> None:
    await until(stage, lambda: any(BETWEEN_STARTS in item.message for item in stage.said), task)
    await rounds(stage, 2, task)
    assert stage.cluster.of(PODS), "the Pod is there as long as its output may be had"


async def told(stage: Stage) -> list[Output | Gap]:
    return [item async for item in stage.verbs.logs("calm-cove")]


@pytest.mark.parametrize("verb", ["pause", "archive", "stop"])
async def test_they_are_fetched_once_the_container_is_back(stage: Stage, verb: str) -> None:
    await crashed(stage)
    doing = asked(stage, verb)
    await waits(stage, doing)
    container(stage, "running")
    await doing
    assert await told(stage) == [Output(0, LAST)]
    assert bool(stage.cluster.of(PODS)) is (verb == "stop")


@pytest.mark.parametrize("verb", ["pause", "archive"])
async def test_of_a_container_that_does_not_come_back_their_loss_is_told(stage: Stage, verb: str) -> None:
    await crashed(stage)
    doing = asked(stage, verb)
    await waits(stage, doing)
    stage.clock.time += RETURN_LIMIT + 1
    stage.cluster.wake()
    await doing
    assert stage.cluster.of(PODS) == []
    assert await told(stage) == [Gap(0, None)]
    lost = "output after byte 0 that was not fetched from the old Pod is lost"
    assert Progress("warning", lost) in stage.said


async def test_force_waits_for_nothing_and_says_what_it_costs(stage: Stage) -> None:
    await crashed(stage)
    await asked(stage, "archive --force")
    assert await told(stage) == [Gap(0, None)]


async def test_a_stop_that_could_not_wait_leaves_them_to_who_takes_the_pod_away(stage: Stage) -> None:
    await crashed(stage)
    stop = asked(stage, "stop")
    await waits(stage, stop)
    stage.clock.time += RETURN_LIMIT + 1
    stage.cluster.wake()
    assert (await stop).word == "Stopped"
    container(stage, "running")
    await asked(stage, "pause")
    assert await told(stage) == [Output(0, LAST)]


@pytest.mark.parametrize("verb", ["pause", "archive", "stop"])
async def test_of_a_pod_that_somebody_took_away_the_loss_is_told(stage: Stage, verb: str) -> None:
    await crashed(stage)
    stage.cluster.drop(PODS, stage.cluster.only(PODS)["metadata"]["name"])
    await asked(stage, verb)
    assert await told(stage) == [Gap(0, None)]


async def test_where_all_was_fetched_nothing_is_told_to_be_missing(stage: Stage) -> None:
    await stage.running()
    stage.agent.last_words = LAST
    await asked(stage, "pause")
    assert await told(stage) == [Output(0, LAST)]
