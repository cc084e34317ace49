"""A wish for what is so already is said to have changed nothing; one that changes something is not."""

from __future__ import annotations

import pytest

from .stage import Stage


async def wish(stage: Stage, verb: str) -> list[str]:
    """What a person reads of it."""
    stage.said.clear()
    await getattr(stage.verbs, verb)("calm-cove", stage.said.append)
    return [said.message for said in stage.said]


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("stop", "calm-cove is stopped already: nothing was done"),
        ("pause", "calm-cove is paused already: nothing was done"),
        ("resume", "calm-cove is running already: nothing was done"),
    ],
)
async def test_the_second_of_two_equal_wishes_says_that_nothing_was_done(
    stage: Stage, verb: str, said: str
) -> None:
    await stage.running()
    if verb == "resume":
        await wish(stage, "stop")
    assert said not in await wish(stage, verb)
    assert said in await wish(stage, verb)


async def test_a_pause_of_what_is_stopped_does_something(stage: Stage) -> None:
    await stage.running()
    await wish(stage, "stop")
    assert [message for message in await wish(stage, "pause") if "already" in message] == []
