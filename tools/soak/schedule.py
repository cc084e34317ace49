"""What a soak does, drawn from its seed: the script of each session, and what happens to the cluster when.

Pure. The same seed gives the same scripts and disturbances; only how they meet is up to the machine.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

CLAIM, EMPTY = "managed_pvc", "empty_dir"
DISTURBANCES = ("apiserver", "containerd", "compact")
MINUTES_EACH = 8
"""Of every kind of disturbance there is one in so many minutes."""
QUIET_SHARE = 0.04
"""Nothing is disturbed in the first and last share of a run."""
LATEST_KILL = 2.0
"""Seconds after the beginning of a step in which its kill falls."""
SIZES = (1 << 10, 1 << 15, 1 << 18, 1 << 20)


@dataclass(frozen=True)
class Step:
    """One verb. ``size`` random bytes are drawn from ``seed`` where it moves some. ``kill_after``: seconds
    after it begins that the first process of the main container gets SIGKILL; None for never."""

    verb: str
    size: int = 0
    seed: int = 0
    kill_after: float | None = None


@dataclass(frozen=True)
class Script:
    """The life of one session. ``followed``: somebody reads along all the time, and so drives it; else nobody
    does between two verbs (``run -d``). ``archived``: its record outlives its objects."""

    number: int
    mode: str
    followed: bool
    transport: str
    steps: tuple[Step, ...]
    archived: bool

    @property
    def kills(self) -> int:
        return sum(step.kill_after is not None for step in self.steps)


@dataclass(frozen=True)
class Disturbance:
    """``at``: seconds after the run began."""

    at: float
    kind: str


def script(seed: int, number: int) -> Script:
    """The script of the session with this number."""
    draw = random.Random(f"{seed}/session/{number}")
    mode = draw.choices((CLAIM, EMPTY), (3, 1))[0]
    steps = [step for block in _blocks(draw, mode) for step in block]
    steps = [Step("run"), *steps, Step("check"), Step("stop")]
    for at in draw.sample(range(len(steps) - 2), draw.choices((0, 1, 2), (7, 9, 4))[0]):
        steps[at] = replace(steps[at], kill_after=round(draw.uniform(0, LATEST_KILL), 2))
    return Script(
        number=number,
        mode=mode,
        followed=draw.random() < 0.6,
        transport=draw.choice(("auto", "auto", "portforward", "exec")),
        steps=tuple(steps),
        archived=draw.random() < 0.5,
    )


def _blocks(draw: random.Random, mode: str) -> list[tuple[Step, ...]]:
    """Steps that belong together, in any order: a copy each way, an exec, an end of the agent at least."""
    ends: list[tuple[Step, ...]] = [(Step("stop"), Step("resume"))]
    if mode == CLAIM:
        ends += [(Step("pause"), Step("resume")), (Step("reset"),)]
    moves = ["copy_in", "copy_out", "echo", "write"]
    blocks: list[tuple[Step, ...]] = [(_moving(draw, verb),) for verb in moves]
    blocks += [draw.choice(ends) for _ in range(draw.choice((1, 1, 2)))]
    blocks.append((Step(draw.choice(("view", "list", "logs"))),))
    draw.shuffle(blocks)
    return blocks


def _moving(draw: random.Random, verb: str) -> Step:
    return Step(verb, draw.choice(SIZES) + draw.randrange(1000), draw.getrandbits(32))


def disturbances(seed: int, minutes: float) -> list[Disturbance]:
    """All of a run, in order: as many of each kind, spread evenly, with jitter."""
    draw = random.Random(f"{seed}/disturbances")
    kinds = list(DISTURBANCES) * max(1, math.ceil(minutes / MINUTES_EACH))
    draw.shuffle(kinds)
    seconds = minutes * 60
    width = seconds * (1 - 2 * QUIET_SHARE) / len(kinds)
    start = seconds * QUIET_SHARE
    times = [start + width * (place + draw.random()) for place in range(len(kinds))]
    return [Disturbance(round(at, 1), kind) for at, kind in zip(times, kinds, strict=True)]
