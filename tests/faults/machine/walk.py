"""One run: a person's commands, some of them under faults, and the laws after each of them.

A run is data (``Step``s), so that it can be played again and made shorter. What ends it is always the same:
the faults stop, the session settles, a second look writes nothing, and it can be removed.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from moorage.core.errors import MoorageError, NotFound
from moorage.core.kinds import Json
from moorage.core.session import Desired, Phase
from moorage.ports.sessions import Removal
from tests.faults.machine import laws
from tests.faults.machine.verbs import ONLY_LOOK, QUITS, TWICE, VERBS, Act, Shape
from tests.faults.machine.world import GIVEN, NAME, Place, World
from tests.faults.pod import StatusScript
from tests.faults.read import Swapped
from tests.faults.table import KNOBS

LIMIT = 3600.0
"""Seconds in which any command must have ended (of a clock that runs only while something happens)."""
ASKED_IN_VAIN = "could not be asked for"
REMOVALS = ("rm", "rm --force", "archive")


@dataclass(frozen=True)
class Shot:
    """A knob, the call it waits for, and how often it fires."""

    knob: str
    call: str
    times: int = 1


@dataclass(frozen=True)
class Step:
    """One command under faults. ``seed``: of what the knobs draw."""

    verb: str
    shots: tuple[Shot, ...] = ()
    seed: int = 0


@dataclass
class Walk:
    """A run under way. ``broken``: the laws that did not hold, in words. ``tell`` hears of each step.
    ``claim_replaced``: something else is in the place of the workspace, or an emptyDir may have gone with its
    Pod, so nothing can be resumed.
    ``given_up``: a person was told what a forced removal without an answer may leave, and where."""

    place: Place
    shape: Shape
    steps: list[Step] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    tell: Callable[[str], None] = lambda line: None
    removal_wished: bool = False
    claim_replaced: bool = False
    given_up: bool = False
    owned: set[str] = field(default_factory=set)
    _dressed: bool = False
    _unread_namespace: bool = False
    _answered: set[str] = field(default_factory=set)
    _removed: set[str] = field(default_factory=set)

    @property
    def world(self) -> World:
        return self.place.world

    def begin(self) -> None:
        """Put strangers beside: a Pod, and the claim that a person made."""
        waiting = {"schedulingGates": [{"name": "test/never"}]}
        container = {"name": "c", "image": "localhost/none:1"}
        pod = {"metadata": {"name": "foreign"}, "spec": {**waiting, "containers": [container]}}
        self.place.stranger("pods", pod)
        self.place.stranger("persistentvolumeclaims", _claim(GIVEN, {}))

    async def do(self, step: Step) -> BaseException | None:
        """One command; what it raised, if that is an error of the product's own tree."""
        self.steps.append(step)
        armed, rng = self.world.armed, random.Random(step.seed)
        self.world.node.quits.pop(self.place.namespace, None)
        if step.verb == "run":
            self.world.node.quits[self.place.namespace] = QUITS
        self.removal_wished |= step.verb in REMOVALS
        armed.verb = step.verb
        for shot in step.shots:
            armed.arm(KNOBS[shot.knob], rng, call=shot.call, times=shot.times)
        before = len(self.world.log)
        raised = await self._command(step.verb, VERBS[step.verb])
        self._note_swaps()
        shots = [f"{s.knob} at {s.call} ×{s.times}" for s in step.shots]
        waiting = [str(knob) for knob in armed.waiting]
        self.tell(f"{step.verb} {shots}, not met: {waiting}: {raised!r}, now {self.state()}")
        armed.calm()
        armed.forget()
        armed.verb = ""
        self._judge(step, self._log(before))
        self._dress()
        if raised is None and not step.shots and step.verb in TWICE:
            await self._quiet(step.verb)
        return raised

    async def _command(self, what: str, act: Act, strict: bool = False) -> BaseException | None:
        try:
            async with asyncio.timeout(LIMIT), self.place.command() as verbs:
                done = await act(verbs, self.shape)
                self.given_up |= isinstance(done, Removal) and any(ASKED_IN_VAIN in one for one in done.keeps)
        except TimeoutError:
            self.broken.append(f"{what} did not end within {LIMIT:.0f} s")
        except MoorageError as error:
            if strict:
                self.broken.append(f"{what} fails although nothing is wrong any more: {error.message}")
            return error
        except Exception as error:
            self.broken.append(f"{what} ended with {type(error).__name__}: {error}")
            return error
        return None

    def _log(self, since: int) -> list[laws.Asked]:
        asked = laws.read(self.world.log[since:])
        return [one for one in asked if one.namespace in ("", self.place.namespace) or one.plural == "nodes"]

    def _note_swaps(self) -> None:
        """What a fault has put in the place of ours is somebody else's from now on, until it is swapped too,
        by the same fault or another."""
        replaced: set[str] = set()
        for strike in self.world.armed.strikes:
            if isinstance(strike, StatusScript):
                self.claim_replaced |= strike.used and self.shape.workspace == "empty"
            elif isinstance(strike, Swapped):
                for plural, obj, gone in strike.made:
                    self.owned.discard(gone)
                    self.claim_replaced |= plural != "pods" or self.shape.workspace == "empty"
                    self.place.strangers.append((plural, obj["metadata"]["name"], obj["metadata"]["uid"]))
                    replaced.add(gone)
        self.place.strangers = [one for one in self.place.strangers if one[2] not in replaced]

    def _judge(self, step: Step, log: list[laws.Asked]) -> None:
        self._answered |= {one.uid for one in log if one.verb == "create" and one.code == 201}
        self._removed |= {one.meant for one in log if one.verb == "delete"}
        stored = {plural: self.place.objects(plural) for plural in laws.OBJECTS}
        strangers = self.place.strangers
        found = itertools.chain(
            laws.deletes_are_proved(log, by_server=self._by_server()),
            laws.reads_are_recent(log),
            laws.one_live_pod(stored["pods"], {uid for _, _, uid in strangers}),
            laws.strangers_are_left_alone(strangers, stored, log),
            laws.claims_are_kept(
                self.owned,
                stored["persistentvolumeclaims"],
                log,
                removal_wished=self.removal_wished,
            ),
        )
        self.broken += [f"{step.verb}: {what}" for what in found]
        self.broken += [f"{step.verb}: {what}" for what in self._adopted({uid for _, _, uid in strangers})]
        if step.verb in ONLY_LOOK and (wrote := laws.writes(log)):
            self.broken.append(f"{step.verb} only looks, and writes: {wrote}")
        self.owned |= self._ours(stored["persistentvolumeclaims"])

    def _by_server(self) -> bool:
        """The Namespace could not be read at the launch: its server stands for it."""
        if (record := self.place.record) is not None:
            self._unread_namespace = not record.inventory.namespace_uid
        return self._unread_namespace

    def _adopted(self, strangers: set[str]) -> Iterator[str]:
        """Nothing of somebody else's is on record as ours."""
        owned = self.place.record.inventory if self.place.record is not None else None
        if owned is not None and owned.pod_uid in strangers:
            yield f"Pod {owned.pod_uid} of somebody else was adopted"
        if owned is not None and owned.claim_created_by_us and owned.claim_uid in strangers:
            yield f"claim {owned.claim_uid} of somebody else was adopted"

    def _ours(self, claims: dict[str, Json]) -> set[str]:
        foreign = {uid for _, _, uid in self.place.strangers}
        uids = {claim["metadata"]["uid"] for claim in claims.values()}
        return set() if self.removal_wished else uids - foreign

    def _dress(self) -> None:
        """Once the labels of ours are known: strangers with all of them."""
        session = None if self._dressed else self.place.record
        if session is None:
            return
        self._dressed = True
        ours = session.identity
        ids = ("install", "executor", "profile", "task", "session")
        labels = {f"moorage.dev/{name}-id": getattr(ours, f"{name}_id") for name in ids}
        labels["app.kubernetes.io/managed-by"] = "moorage"
        spec = {"schedulingGates": [{"name": "test/never"}], "containers": [{"name": "agent", "image": "x"}]}
        self.place.stranger("pods", {"metadata": {"name": "twin", "labels": labels}, "spec": spec})
        self.place.stranger("persistentvolumeclaims", _claim("twin", labels))

    def state(self) -> str:
        """Where the session stands, in the words of ``verbs.BY_STATE``."""
        session = self.place.record
        if session is None or session.state.phase is Phase.DELETED:
            return "none"
        steady = session.seen_intent >= session.intent.number
        match session.state.phase:
            case Phase.RUNNING if steady:
                return "running"
            case Phase.PRESERVED if steady:
                return "paused" if session.state.pod == "released" else "stopped"
            case Phase.ARCHIVED:
                return "archived"
        return "other"

    async def settle(self) -> None:
        """The faults have stopped: what was wished comes true, a second look writes nothing, and all of it
        can be removed."""
        self.world.node.quits.pop(self.place.namespace, None)
        self._clear_the_way()
        session = self.place.record
        if session is not None and session.state.phase is not Phase.DELETED:
            verb = {Desired.DELETED: "rm", Desired.ARCHIVED: "archive"}.get(session.intent.desired, "resume")
            raised = await self._calm(verb)
            if verb == "resume" and raised is None:
                await self._output_is_whole()
                if not self.steps or self.steps[-1].seed % 2:  # each other run: it is as long as a step
                    await self._quiet("resume")
            session = self.place.record
        if session is not None and session.state.phase is not Phase.DELETED:
            self.removal_wished = True
            if await self._calm("rm") is None:
                await self._nothing_to_remove()
        self._nothing_is_left()

    async def _nothing_to_remove(self) -> None:
        """A second removal is told that there is nothing, and writes nothing."""
        before = len(self.world.log)
        raised = await self._command("rm (again)", VERBS["rm"])
        if not isinstance(raised, NotFound):
            self.broken.append(f"rm again ends with {raised!r}, not with NotFound")
        if wrote := laws.writes(self._log(before)):
            self.broken.append(f"rm again writes: {wrote}")

    def _clear_the_way(self) -> None:
        """A person removes what stands under our names, as the message of NameBlocked says: what a fault put
        there, and a Pod from which admission took our nonce and that could not be removed at once."""
        known = {"foreign", "twin", GIVEN}
        blocking = {(plural, name, uid) for plural, name, uid in self.place.strangers if name not in known}
        for name, pod in self.place.objects("pods").items():
            noted = laws.NONCE in (pod["metadata"].get("annotations") or {})
            if name not in known and not noted and self._unproved(pod["metadata"]["uid"]):
                blocking.add(("pods", name, pod["metadata"]["uid"]))
        for plural, name, uid in blocking:
            found = self.place.objects(plural).get(name)
            if found is not None and found["metadata"]["uid"] == uid:
                kind = self.world.cluster.registry.kinds.find("", "v1", plural)
                assert kind is not None
                self.world.cluster.store.remove(kind.key, (self.place.namespace, name))
        self.place.strangers = [one for one in self.place.strangers if one not in blocking]

    def _unproved(self, uid: str) -> bool:
        """Nobody can prove any more that it is ours: the answer that named it was lost, or its removal was
        tried in vain."""
        return uid not in self._answered or uid in self._removed

    async def _calm(self, verb: str) -> BaseException | None:
        """One command that nothing disturbs."""
        self.removal_wished |= verb in REMOVALS
        before = len(self.world.log)
        strict = verb != "resume" or not self.claim_replaced
        raised = await self._command(f"{verb} (calm)", VERBS[verb], strict=strict)
        self._judge(Step(f"{verb} (calm)"), self._log(before))
        return raised

    async def _quiet(self, verb: str) -> None:
        before, pods = len(self.world.log), _uids(self.place.objects("pods"))
        await self._command(f"{verb} (again)", VERBS[verb], strict=True)
        log = self._log(before)
        if wrote := laws.writes(log):
            self.broken.append(f"{verb} again writes, although nothing has changed: {wrote}")
        if _uids(self.place.objects("pods")) != pods:
            self.broken.append(f"{verb} again has changed the Pods")

    async def _output_is_whole(self) -> None:
        async with self.place.command() as verbs:
            told = [item async for item in verbs.logs(NAME)]
        self.broken += laws.output_is_whole(told)

    def _nothing_is_left(self) -> None:
        foreign = {uid for _, _, uid in self.place.strangers}
        for plural in () if self.given_up else laws.OBJECTS:
            left = _uids(self.place.objects(plural)) - foreign
            if left:
                self.broken.append(f"{plural} are left after the removal: {sorted(left)}")


def _claim(name: str, labels: dict[str, str]) -> Json:
    amount = {"requests": {"storage": "1Mi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": amount, "storageClassName": "standard"}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def _uids(objects: dict[str, Json]) -> set[str]:
    return {obj["metadata"]["uid"] for obj in objects.values()}


def silent(line: str) -> None:
    """For whoever needs no account of the steps."""


async def play(
    world: World, shape: Shape, steps: Iterable[Step], tell: Callable[[str], None] = silent
) -> list[str]:
    """A whole run of fixed steps; the laws that were broken."""
    place = await world.place()
    walk = Walk(place, shape, tell=tell)
    try:
        walk.begin()
        for step in steps:
            await walk.do(step)
        await walk.settle()
    finally:
        place.left()
    return walk.broken
