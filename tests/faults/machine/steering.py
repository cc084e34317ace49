"""Which triple a run goes for next: those that have not fired yet, from the table and the undisturbed log.

Coverage comes from construction: what the verb calls in a state and the table allows there is aimed at until
it has fired. Beside it stands chance: more shots at once, and shots that have fired before.
"""

from __future__ import annotations

import random
from collections import Counter

from tests.faults.knob import Triple
from tests.faults.machine.verbs import BY_STATE
from tests.faults.machine.walk import Shot, Step
from tests.faults.table import FIRST_CUT, KNOBS, allowed

ANY = {call for knob in KNOBS.values() for call in knob.calls}
"""What a verb may call, where its calls were not learned."""
MORE = 0.25
"""Chance of one more shot in a step."""
CALM = 0.1
"""Chance of a step without any."""
Calls = dict[tuple[str, str], set[str]]
"""By (state, verb): the calls that the verb makes there when nothing disturbs it."""


class Steering:
    """``share``: (number, of how many) of the processes that divide the triples among them."""

    def __init__(self, calls: Calls, rng: random.Random, share: tuple[int, int] = (0, 1)) -> None:
        self.calls, self._rng = calls, rng
        self._aimed: Counter[tuple[str, Triple]] = Counter()
        wanted = sorted({triple for (_, verb), made in calls.items() for triple in _triples(verb, made)})
        number, of = share
        self.wanted = set(wanted)
        self._mine = set(wanted[number::of])

    def missing(self, fired: Counter[Triple]) -> list[Triple]:
        """What was to fire and has not."""
        return sorted(self.wanted - set(fired))

    def next(self, state: str, fired: Counter[Triple]) -> Step:
        """The step to take in this state."""
        rng = self._rng
        verbs = [verb for verb in BY_STATE[state] if (state, verb) in self.calls] or list(BY_STATE[state])
        open_ = {verb: self._open(state, verb, fired) for verb in verbs}
        hopeful = [verb for verb in verbs if open_[verb]]
        verb = self._weighted(hopeful, open_) if hopeful and rng.random() < 0.9 else rng.choice(verbs)
        if rng.random() < CALM:
            return Step(verb, (), rng.getrandbits(32))
        shots: list[Shot] = []
        for _ in range(1 + (rng.random() < MORE)):
            if not open_[verb]:
                break
            aim = min(open_[verb], key=lambda triple: (self._aimed[state, triple], rng.random()))
            self._aimed[state, aim] += 1
            open_[verb].remove(aim)
            shots += self._aimed_shots(aim)
        made = self.calls.get((state, verb), ANY)
        any_ = [Shot(t.knob, t.call, 1) for t in sorted(_triples(verb, made))]
        while any_ and (len(shots) < (1 if (state, verb) in self.calls else 4) or rng.random() < MORE):
            shots.append(rng.choice(any_))
        return Step(verb, tuple(shots), rng.getrandbits(32))

    def straight(self, fired: Counter[Triple]) -> tuple[str, Step] | None:
        """What has been aimed at least of all that has not fired: the state it is to be had in, and the step
        with nothing else in it. None when nothing is missing."""
        open_ = [(state, triple) for state, verb in self.calls for triple in self._open(state, verb, fired)]
        open_ = [one for one in open_ if one[1] in self._mine] or open_
        if not open_:
            return None
        state, aim = min(open_, key=lambda one: (self._aimed[one], self._rng.random()))
        self._aimed[state, aim] += 1
        return state, Step(aim.verb, self._aimed_shots(aim), self._rng.getrandbits(32))

    def _aimed_shots(self, aim: Triple) -> tuple[Shot, ...]:
        shot = Shot(aim.knob, aim.call, self._rng.choice((1, 1, 2, 4)))
        before = FIRST_CUT.get(aim.knob)
        return (shot, Shot(before, aim.call, 1)) if before else (shot,)

    def _weighted(self, verbs: list[str], open_: dict[str, list[Triple]]) -> str:
        return self._rng.choices(verbs, [len(open_[verb]) for verb in verbs])[0]

    def _open(self, state: str, verb: str, fired: Counter[Triple]) -> list[Triple]:
        made = self.calls.get((state, verb), set())
        mine = [triple for triple in _triples(verb, made) if triple not in fired]
        return [triple for triple in mine if triple in self._mine] or mine

    def leads_on(self, state: str, fired: Counter[Triple]) -> bool:
        """Whether anything is to be had in this state."""
        return any(self._open(state, verb, fired) for verb in BY_STATE[state])


def _triples(verb: str, made: set[str]) -> set[Triple]:
    return {Triple(verb, call, knob.name) for call in made for knob in allowed(call, verb)}
