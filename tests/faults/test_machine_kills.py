"""Fixed scenes of the state machine, short and always the same: it catches who breaks these promises.

A mutant of each (``tests/mutants/machine-*.toml``) must make its scene fail. As it stands, the product comes
through all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.faults.knob import STATUS, Triple
from tests.faults.machine.verbs import Shape
from tests.faults.machine.virtual_time import VirtualLoop
from tests.faults.machine.walk import Shot, Step, play
from tests.faults.machine.world import World

UNANSWERED = Shot("commit_then_drop", "create pods")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        made = World(tmp_path_factory.mktemp("world"), loop)
        runner.run(made.__aenter__())
        yield made
        runner.run(made.__aexit__())


def _holds(world: World, met: set[Triple], *steps: Step) -> None:
    """The laws hold in this run, and it met what it is about."""
    world.armed.fired.clear()
    broken = world.loop.run_until_complete(play(world, Shape(), steps))
    assert met <= set(world.armed.fired), f"the scene did not come about: {dict(world.armed.fired)}"
    assert not broken


@pytest.mark.parametrize("seed", range(4))
def test_a_pod_put_in_the_place_of_an_unanswered_create_is_not_adopted(world: World, seed: int) -> None:
    """The create's nonce is open, so that it alone tells that the Pod of that name is not ours: the record
    holds no UID, and labels and spec are copies."""
    swap = Shot("uid_swap", "get pods")
    met = {Triple("run -d", "create pods", UNANSWERED.knob), Triple("run -d", "get pods", swap.knob)}
    _holds(world, met, Step("run -d", (UNANSWERED, swap), seed))


@pytest.mark.parametrize("verb", ["archive", "rm"])
def test_a_removal_that_cannot_read_the_pod_deletes_nothing(world: World, verb: str) -> None:
    unread = Shot("read_500", "get pods", 12)
    _holds(world, {Triple(verb, "get pods", unread.knob)}, Step("run -d"), Step(verb, (unread,)))


@pytest.mark.parametrize("verb", ["archive", "rm"])
def test_a_removal_waits_for_a_pod_that_takes_its_time_to_end(world: World, verb: str) -> None:
    """Somebody's finalizer keeps the Pod for a while: its claim stays for as long."""
    held = Shot("finalizer_hold", STATUS)
    met = {Triple("run -d", STATUS, held.knob)}
    _holds(world, met, Step("run -d", (held,), 1), Step(verb))
