"""Fault knobs: what can go wrong with one call, made so that a run can choose, arm and count it.

A knob is a name of the catalogue's section 0. Arming it makes a ``Strike``, which changes what happens at the
seams of the embedded API (``embedded.faults``), in admission, at the scripted node or in the client's own
surroundings, for the calls it may hit, and says so when it did. ``Armed`` is the ``Faults`` of a cluster: it
leads each call to the strikes that wait for it. Used by every family of this folder and by the state machine;
decides nothing about when a knob is armed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from moorage.core.kinds import Json
from moorage.embedded import EmbeddedCluster
from moorage.embedded.api.calls import Call
from moorage.embedded.faults import Answer, NoFaults, StreamFaults

STATUS = "status pods"
"""The pseudo call of a node that reports a Pod: what knobs of the POD family hit."""
CONNECT = "connect"
"""The pseudo call of a client that opens its connection: what knobs of its surroundings hit."""


class Triple(NamedTuple):
    """What fired: the verb under way, the call it made and the knob."""

    verb: str
    call: str
    knob: str

    def __str__(self) -> str:
        return f"{self.verb} · {self.call} · {self.knob}"


def call_name(call: Call) -> str:
    """``create pods``, ``get pods/exec``, ``get /version``; a dry run says so."""
    return str(call)


@dataclass
class Surroundings:
    """Of one client: what it reads at its start beside the API. A strike may change all of it; ``offset``:
    seconds by which its clock is wrong."""

    kubeconfig: Path
    offset: float = 0.0


class Strike(NoFaults):
    """One armed knob. Subclasses override the seams they need and call ``hit`` when the fault happens.

    ``left``: how often it will still happen; ``cluster``: where it is armed, for what happens to objects by
    no call at all (a finalizer, a new UID). A call that was hit stays with its strike until it ends, so a
    watch that went silent remains silent.
    """

    def __init__(self, rng: random.Random, times: int = 1) -> None:
        self.rng, self.left, self.used = rng, times, False
        self.record: Callable[[str], None] = lambda call: None
        self.cluster: EmbeddedCluster | None = None
        self._held: list[Call] = []

    def hit(self, call: Call | str) -> None:
        """The fault happens now, to this call."""
        self.left -= 1
        self.used = True
        if isinstance(call, Call):
            self._held.append(call)
        self.record(call if isinstance(call, str) else call_name(call))

    def holds(self, call: Call) -> bool:
        """True for a call that was hit before."""
        return any(held is call for held in self._held)

    def wants(self, call: Call) -> bool:
        """Beyond the names of the knob's calls: whether this one may be hit, e.g. only with a body."""
        return True

    def admit(self, call: Call, draft: Json) -> Json:
        """Admission of a create: the draft to go on with. May raise ``Refusal``."""
        return draft

    def pod_status(self, pod: Json, status: Json) -> Iterable[Json]:
        """A node reports ``status`` of ``pod``: what it reports in its place, in order."""
        return (status,)

    def surround(self, client: Surroundings) -> None:
        """A client is about to connect."""

    def undo(self, client: Surroundings) -> None:
        """Its surroundings are mended, where ``surround`` broke what the client cannot mend itself."""

    def heard(self, event: Json) -> None:
        """A request of the client was answered, as its audit event tells."""

    def begin(self) -> None:
        """Called once when armed in a cluster."""


@dataclass(frozen=True)
class Knob:
    """``name`` as in the catalogue; ``calls`` by ``call_name``; ``strike``: makes it, from a seeded random
    and the number of times it is to fire."""

    name: str
    family: str
    calls: frozenset[str]
    strike: Callable[[random.Random, int], Strike]

    def __str__(self) -> str:
        return self.name


@dataclass
class _Shot:
    knob: Knob
    strike: Strike
    call: str


class Armed(NoFaults):
    """The faults of one cluster. ``verb`` is the one under way; ``fired`` counts what happened, ``made``
    holds the calls that were made (verb, call)."""

    def __init__(self) -> None:
        self.verb = ""
        self.fired: Counter[Triple] = Counter()
        self.made: set[tuple[str, str]] = set()
        self._shots: list[_Shot] = []
        self._cluster: EmbeddedCluster | None = None

    def install(self, cluster: EmbeddedCluster) -> None:
        """From now on this cluster's faults are these."""
        self._cluster = cluster
        cluster.set_faults(self)
        cluster.add_webhook(self._admit)

    def arm(self, knob: Knob, rng: random.Random, *, call: str = "", times: int = 1) -> Strike:
        """Wait for the next ``times`` calls named ``call`` (``""``: any the knob may hit)."""
        strike = knob.strike(rng, times)

        def record(hit: str) -> None:
            self.fired[Triple(self.verb, hit, knob.name)] += 1

        strike.record = record
        self._shots.append(_Shot(knob, strike, call))
        strike.cluster = self._cluster
        if self._cluster is not None:
            strike.begin()
        return strike

    @property
    def strikes(self) -> list[Strike]:
        """Those that were armed and are not forgotten."""
        return [shot.strike for shot in self._shots]

    def calm(self) -> None:
        """Nothing more goes wrong; what already stands (a silent watch) is not taken back."""
        for shot in self._shots:
            shot.strike.left = 0

    def forget(self) -> None:
        """No strike is left, and none is asked again."""
        self._shots.clear()

    @property
    def waiting(self) -> list[Knob]:
        """The knobs that have not fired as often as they are to."""
        return [shot.knob for shot in self._shots if shot.strike.left > 0]

    def _for(self, name: str, call: Call | None = None) -> Iterator[Strike]:
        for shot in list(self._shots):
            strike = shot.strike
            meant = shot.call == name if shot.call else name in shot.knob.calls
            wanted = meant and strike.left > 0 and (call is None or strike.wants(call))
            if wanted or (call is not None and strike.holds(call)):
                yield strike

    async def request(self, call: Call) -> Answer | None:
        self.made.add((self.verb, call_name(call)))
        for strike in self._for(call_name(call), call):
            instead = await strike.request(call)
            if instead is not None:
                return instead
        return None

    async def committed(self, call: Call, obj: Json) -> None:
        for strike in self._for(call_name(call), call):
            await strike.committed(call, obj)

    async def response(self, call: Call, answer: Answer) -> Answer:
        for strike in self._for(call_name(call), call):
            answer = await strike.response(call, answer)
        return answer

    async def watch_event(self, call: Call, event: Json) -> Iterable[Json]:
        events = [event]
        for strike in self._for(call_name(call), call):
            events = [sent for each in events for sent in await strike.watch_event(call, each)]
        return events

    def read_version(self, call: Call) -> int | None:
        found = [strike.read_version(call) for strike in self._for(call_name(call), call)]
        return next((version for version in found if version is not None), None)

    async def stream(
        self, call: Call, offered: tuple[str, ...]
    ) -> tuple[tuple[str, ...], StreamFaults | None]:
        for strike in self._for(call_name(call), call):
            offered, faults = await strike.stream(call, offered)
            if faults is not None:
                return offered, faults
        return offered, None

    def pod_status(self, pod: Json, status: Json) -> list[Json]:
        """What a scripted node reports in place of ``status``."""
        self.made.add((self.verb, STATUS))
        told = [status]
        for strike in self._for(STATUS):
            told = [each for one in told for each in strike.pod_status(pod, one)]
        return told

    def surround(self, client: Surroundings) -> None:
        """Change a client's surroundings before it connects."""
        self.made.add((self.verb, CONNECT))
        for strike in self._for(CONNECT):
            strike.surround(client)

    def undo(self, client: Surroundings) -> None:
        """Mend a client's surroundings, where a fault broke them."""
        for shot in self._shots:
            if CONNECT in shot.knob.calls and shot.strike.used:
                shot.strike.undo(client)

    def heard(self, event: Json) -> None:
        """Tell every strike what was answered."""
        for shot in self._shots:
            shot.strike.heard(event)

    def _admit(self, call: Call, draft: Json) -> Json:
        for strike in self._for(call_name(call), call):
            draft = strike.admit(call, draft)
        return draft
