"""The state machine as a program: many runs in one process, their laws, and which triples fired.

``python -m tests.faults.machine.run --runs N --seed S --share I/N --out FILE`` plays and writes JSON; started
by ``tests/faults/test_laws.py``, or by hand with the ``--only`` of a failure's message. A run that breaks a
law is made shorter (by Hypothesis) before it is told.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import strategies as st

from tests.faults.knob import Triple
from tests.faults.machine.steering import Calls, Steering
from tests.faults.machine.verbs import BY_STATE, LEADS, Shape
from tests.faults.machine.virtual_time import VirtualLoop
from tests.faults.machine.walk import Shot, Step, Walk, play, silent
from tests.faults.machine.world import World

STEPS = (2, 3, 4)
WANDERING = 0.6
"""Part of the runs that go wherever their steps lead; the rest goes straight to what has not fired."""
Tell = Callable[[str], None]
SHAPES = (
    *(("managed", "image"),) * 7,
    ("given", "image"),
    ("empty", "image"),
    ("managed", "exec"),
)


async def undisturbed(world: World, states: Sequence[str]) -> Calls:
    """What each verb calls in each state, when nothing is wrong. Those that only look share one session."""
    calls: Calls = {}
    for state in states:
        lead = LEADS[state]
        looking: Walk | None = None
        for verb in BY_STATE[state]:
            if looking is None:
                looking = Walk(await world.place(), Shape())
                for before in lead:
                    await looking.do(Step(before))
            walk = looking
            world.armed.made.clear()
            raised = await walk.do(Step(verb))
            if raised is not None or walk.broken:
                raise AssertionError(f"{verb} of a session that is {state}: {raised} {walk.broken}")
            calls[state, verb] = {call for _, call in world.armed.made}
            if walk.state() != state:
                walk.place.left()
                looking = None
    return calls


async def one_run(world: World, steering: Steering, rng: random.Random, tell: Tell) -> Walk:
    """A steered run, as it turns out."""
    walk = Walk(await world.place(), Shape(*rng.choice(SHAPES)), tell=tell)
    try:
        walk.begin()
        for _ in range(rng.choice(STEPS)):
            state = walk.state()
            if state == "none" and walk.steps and rng.random() < 0.5:
                await walk.do(Step("run -d"))
                state = walk.state()
            await walk.do(steering.next(state, world.armed.fired))
            if walk.broken:
                break
        await walk.settle()
    finally:
        walk.place.left()
    return walk


async def straight_run(world: World, steering: Steering, rng: random.Random, tell: Tell) -> Walk | None:
    """The shortest way to a triple that has not fired yet; None when none is missing."""
    aimed = steering.straight(world.armed.fired)
    if aimed is None:
        return None
    state, step = aimed
    walk = Walk(await world.place(), Shape(*rng.choice(SHAPES)), tell=tell)
    try:
        walk.begin()
        for verb in LEADS[state]:
            await walk.do(Step(verb))
        await walk.do(step)
        await walk.settle()
    finally:
        walk.place.left()
    return walk


def shorter(loop: VirtualLoop, world: World, shape: Shape, steps: list[Step], tries: int) -> list[Step]:
    """The fewest steps and shots that still break a law, as far as a few dozen tries tell."""
    places = [(i, j) for i, step in enumerate(steps) for j in range(len(step.shots))]

    def chosen(kept: tuple[list[bool], list[bool]]) -> list[Step]:
        shots = {place for place, keep in zip(places, kept[1], strict=True) if keep}
        return [
            Step(step.verb, tuple(s for j, s in enumerate(step.shots) if (i, j) in shots), step.seed)
            for i, step in enumerate(steps)
            if kept[0][i]
        ]

    masks = st.tuples(
        st.lists(st.booleans(), min_size=len(steps), max_size=len(steps)),
        st.lists(st.booleans(), min_size=len(places), max_size=len(places)),
    )
    quick = hypothesis.settings(
        max_examples=tries, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    try:
        found = hypothesis.find(
            masks,
            lambda kept: bool(loop.run_until_complete(play(world, shape, chosen(kept)))),
            settings=quick,
            random=random.Random(0),
        )
    except hypothesis.errors.NoSuchExample:
        return steps
    return chosen(found)


def told(step: Step) -> dict[str, Any]:
    return {"verb": step.verb, "shots": [[s.knob, s.call, s.times] for s in step.shots], "seed": step.seed}


def read_steps(text: str) -> tuple[Shape, list[Step]]:
    """A run as its failure tells it."""
    found = json.loads(text)
    steps = [Step(s["verb"], tuple(Shot(*shot) for shot in s["shots"]), s["seed"]) for s in found["steps"]]
    return Shape(*found["shape"]), steps


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", default="0/1", help="which part of the triples, of how many")
    parser.add_argument("--states", default=",".join(LEADS), help="in which verbs are aimed at")
    parser.add_argument("--failures", type=int, default=3, help="so many, and no more runs")
    parser.add_argument("--shrink", type=int, default=40, help="so many tries to make a run shorter")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--verbose", action="store_true", help="tell each step")
    parser.add_argument("--only", help="one run, as a failure tells it")
    options = parser.parse_args(words)
    gc.set_threshold(100_000, 20, 20)  # what a run leaves is small, and the collector is a tenth of its time
    with (
        tempfile.TemporaryDirectory(dir=_memory()) as folder,
        asyncio.Runner(loop_factory=VirtualLoop) as runner,
    ):
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        world = World(Path(folder), loop)
        loop.run_until_complete(world.__aenter__())
        try:
            result = _play_all(loop, world, options)
        finally:
            loop.run_until_complete(world.__aexit__())
    if options.out:
        options.out.write_text(json.dumps(result))
    else:
        print(json.dumps(result, indent=1))
    return 1 if result["failures"] else 0


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _play_all(loop: VirtualLoop, world: World, options: argparse.Namespace) -> dict[str, Any]:
    tell: Tell = say if options.verbose else silent
    if options.only:
        shape, steps = read_steps(options.only)
        broken = loop.run_until_complete(play(world, shape, steps, say))
        return {"failures": [{"broken": one} for one in broken]}
    rng = random.Random(options.seed)
    number, of = (int(part) for part in options.share.split("/"))
    calls = loop.run_until_complete(undisturbed(world, [s for s in options.states.split(",") if s]))
    say(f"{len(calls)} verbs in their states, undisturbed")
    world.armed.fired.clear()
    steering = Steering(calls, rng, (number, of))
    failures: list[dict[str, Any]] = []
    done = 0
    while done < options.runs and len(failures) < options.failures:
        walk = None
        if calls and done >= options.runs * WANDERING:
            walk = loop.run_until_complete(straight_run(world, steering, rng, tell))
        walk = walk or loop.run_until_complete(one_run(world, steering, rng, tell))
        shape, steps, broken = walk.shape, walk.steps, walk.broken
        fired = Counter(world.armed.fired)
        seconds = f"{time.process_time():.0f} s of CPU"
        say(f"run {done}: {len(fired)} of {len(steering.wanted)} triples, {seconds}, {broken}")
        done += 1
        if broken:
            fewest = shorter(loop, world, shape, steps, options.shrink) if options.shrink else steps
            again = loop.run_until_complete(play(world, shape, fewest)) if options.shrink else broken
            failures.append(
                {
                    "broken": again or broken,
                    "first": broken,
                    "run": {"shape": [shape.workspace, shape.helper], "steps": [told(s) for s in fewest]},
                }
            )
            world.armed.fired = fired  # what fired while it was made shorter counts for nothing
    return {
        "runs": done,
        "failures": failures,
        "wanted": sorted(map(list, steering.wanted)),
        "fired": [[*triple, count] for triple, count in sorted(world.armed.fired.items())],
    }


def fired_of(result: dict[str, Any]) -> Counter[Triple]:
    """The counts in a result."""
    return Counter({Triple(verb, call, knob): count for verb, call, knob, count in result["fired"]})


if __name__ == "__main__":
    raise SystemExit(main())
