"""One schedule: a verb, and what goes wrong with which of its calls; made from a seed and nothing else.

``Steering`` picks, for each new schedule, the knob and verb that have been seen together least. ``Running``
is a schedule under way: the proxy asks it for each call's fate, and it notes what was felt. No I/O.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from .faults import EXEC, KNOBS, Fault, allowed, hits

ORDINALS = (0, 0, 0, 1, 1, 2, 3)
"""Which of several equal calls is hit; of those that are made once in a verb, the first."""
REPEATED = ("get pods", "get persistentvolumeclaims", "list events", EXEC)
MORE = (0, 0, 1, 2)
"""How many more faults wait for the same verb."""


class Pair(NamedTuple):
    """What a schedule is for."""

    knob: str
    verb: str


@dataclass(frozen=True)
class Shot:
    """The ``nth`` call of that name, from 0, meets ``fault``."""

    call: str
    nth: int
    fault: Fault


@dataclass(frozen=True)
class Schedule:
    """``text`` is all that is needed to make it again."""

    pair: Pair
    seed: int
    shots: tuple[Shot, ...]
    rng: random.Random = field(repr=False, compare=False)
    """For what else a story may choose: storage, transport."""

    @property
    def text(self) -> str:
        return f"{self.pair.knob}:{self.pair.verb}:{self.seed}"


def make(text: str) -> Schedule:
    """The schedule of that name."""
    knob, verb, seed = text.split(":")
    rng = random.Random(text)
    knobs = [knob, *rng.choices([name for name, of in allowed() if of == verb], k=rng.choice(MORE))]
    return Schedule(Pair(knob, verb), int(seed), tuple(_shot(name, verb, rng) for name in knobs), rng)


def _shot(knob: str, verb: str, rng: random.Random) -> Shot:
    call = rng.choice(hits(knob, verb))
    nth = rng.choice(ORDINALS) if call in REPEATED else 0
    return Shot(call, nth, KNOBS[knob][1](call, rng))


class Steering:
    """Counts what was felt, and leads to what was not. Seeds count up from ``seed``."""

    def __init__(self, seed: int) -> None:
        self._next = seed
        self._rng = random.Random(seed)
        self.felt: Counter[Pair] = Counter()
        self._tried: Counter[Pair] = Counter()

    def next(self) -> Schedule:
        """Of the pairs felt least, the one tried least; chance decides the rest."""
        pair = min(
            (Pair(*pair) for pair in allowed()),
            key=lambda pair: (self.felt[pair] + self._tried[pair] / 16, self._rng.random()),
        )
        self._tried[pair] += 1
        self._next += 1
        return make(f"{pair.knob}:{pair.verb}:{self._next}")


class Running:
    """A schedule at work. Faults happen only while a verb is ``under_way``."""

    def __init__(self, schedule: Schedule) -> None:
        self._shots = list(schedule.shots)
        self._seen: Counter[str] = Counter()
        self.under_way = ""
        self.felt: Counter[Pair] = Counter()
        self.told: list[str] = []
        self.calls: Counter[str] = Counter()

    def choose(self, call: str) -> Fault | None:
        """The fate of the call that comes now."""
        if not self.under_way:
            return None
        self.calls[call] += 1
        nth = self._seen[call]
        self._seen[call] += 1
        for shot in self._shots:
            if (shot.call, shot.nth) == (call, nth):
                return shot.fault
        return None

    def fired(self, fault: Fault, call: str) -> None:
        """That fault was felt; counted where it befell the verb."""
        if self.under_way:
            self.felt[Pair(fault.knob, self.under_way)] += 1
            self.told.append(f"{fault} on {call}")


def table(felt: Counter[Pair]) -> str:
    """Knob by verb: how often felt, ``.`` where there is nothing to hit."""
    pairs = {Pair(*pair) for pair in allowed()}
    verbs = list(dict.fromkeys(verb for _, verb in allowed()))
    width = max(map(len, KNOBS))
    lines = [" " * width + " ".join(f" {verb}" for verb in verbs)]
    for knob in KNOBS:
        cells = (str(felt[Pair(knob, verb)]) if Pair(knob, verb) in pairs else "." for verb in verbs)
        wide = (cell.rjust(len(verb) + 1) for cell, verb in zip(cells, verbs, strict=True))
        lines.append(knob.ljust(width) + " ".join(wide))
    return "\n".join(lines)
