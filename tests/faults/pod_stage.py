"""A stage for rows of the catalogue about Pods: a status script in, what the session became and did out.

The verbs, engine, adapter, store and API are the product's; the node is scripted (``pod_script``), and time
is skipped where all wait. A row is data: see ``test_pod_scripts``.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from moorage.core.errors import MoorageError
from moorage.core.kinds import CLAIMS, PODS, Json
from moorage.core.session import HelperSpec
from moorage.ports.link import Gap
from moorage.ports.sessions import Exited, Happening, LaunchRequest, Progress, SessionView
from moorage.sessions.verbs import Verbs
from tests.faults.knob import STATUS, Knob
from tests.faults.machine.verbs import HELPER_IMAGE, TEMPLATE, WORKSPACES
from tests.faults.machine.virtual_time import VirtualLoop
from tests.faults.machine.world import NAME, Place, World
from tests.faults.pod import StatusScript
from tests.faults.pod_script import Kubelet, Script, play, runs
from tests.faults.table import KNOBS

T = TypeVar("T")
WRITES = frozenset(f"{verb} {kind.plural}" for verb in ("create", "delete") for kind in (PODS, CLAIMS))
LIMIT = 3600.0
"""Seconds of the skipped clock after which a row hangs."""


@dataclass(frozen=True)
class Row:
    """``start``: what is reported of the first ``pods`` Pods, in place of a Pod that runs. ``then``: what
    happens to the running one, while somebody follows it. Afterwards it is watched for ``more`` seconds.
    ``knob``: a fault of the wire that is armed all the while.

    What is expected, where it is given: ``phase`` of the record, ``word`` and ``category`` as shown,
    ``reason`` of state or diagnosis, ``says``: words told to a person; ``writes``: what was asked of the API,
    in order; ``most_pods``: so many creates at most.
    """

    name: str
    start: Script = ((0, runs()),)
    then: Script = ()
    pods: int = 1
    more: float = 30.0
    knob: str = ""
    workspace: str = "managed"
    start_timeout: float = 120.0
    restart_allowed: bool = True
    phase: str = ""
    word: str = ""
    reason: str = ""
    category: str = ""
    says: tuple[str, ...] = ()
    writes: tuple[str, ...] | None = None
    most_pods: int = 0

    def __str__(self) -> str:
        return self.name


@dataclass
class Outcome:
    """What became of a row. ``raised``: by the command; ``told``: everything a person was shown."""

    view: SessionView
    raised: MoorageError | None
    happened: list[Happening]
    writes: list[str]
    pods: list[Json]
    begun: list[str]
    """Start ids of the agent, in each Pod that is still there."""
    struck: int
    """How often the row's knob fired."""

    @property
    def exited(self) -> Exited | None:
        return next((each for each in self.happened if isinstance(each, Exited)), None)

    @property
    def lost(self) -> list[Gap]:
        """Output that is known to be missing."""
        return [each for each in self.happened if isinstance(each, Gap)]

    @property
    def told(self) -> str:
        said = [each.message for each in self.happened if isinstance(each, Progress)]
        if self.raised is not None:
            said.append(f"{self.raised.message} {self.raised.hint}")
        if self.view.diagnosis is not None:
            said.append(f"{self.view.diagnosis.message} {self.view.diagnosis.hint}")
        return "\n".join([*said, self.view.reason])


@dataclass
class Stage:
    """One world for many rows."""

    world: World
    runner: asyncio.Runner
    _played: int = field(default=0)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def play(self, row: Row) -> Outcome:
        """A whole row."""
        return self.run(self._play(row))

    async def _play(self, row: Row) -> Outcome:
        place = await self.world.place()
        armed, since = self.world.armed, len(self.world.log)
        armed.arm(
            Knob("script", "POD", frozenset({STATUS}), lambda rng, n: StatusScript(rng, n, script=row.start)),
            random.Random(0),
            times=row.pods,
        )
        if row.knob:
            armed.arm(KNOBS[row.knob], random.Random(0), times=1000)
        happened: list[Happening] = []
        try:
            async with asyncio.timeout(LIMIT), place.command() as verbs:
                raised = await _command(_begin(verbs, row, happened))
                if raised is None and row.then:
                    raised = await self._follow(place, verbs, row, happened)
                view = await verbs.view(NAME)
            return Outcome(
                view,
                raised,
                happened,
                _writes(self.world.log[since:], place.namespace),
                list(place.objects("pods").values()),
                [start for pod in self.world.node.pods.values() for start in pod.agent.starts],
                sum(count for triple, count in armed.fired.items() if triple.knob == row.knob),
            )
        finally:
            armed.calm()
            armed.forget()
            await self._mend()
            place.left()

    async def _mend(self) -> None:
        """The node as it was before the row."""
        node, nodes = self.world.node, self.world.cluster.nodes
        node.pods.clear()
        if node not in nodes:
            assert isinstance(nodes, list)
            nodes.append(node)
            await node.start(self.world.cluster.objects("kubelet"))

    async def _follow(
        self, place: Place, verbs: Verbs, row: Row, happened: list[Happening]
    ) -> MoorageError | None:
        (pod,) = place.objects("pods").values()
        attachment = verbs.attach(NAME)

        async def follow() -> None:
            async for happening in attachment.happenings():
                happened.append(happening)

        following = asyncio.ensure_future(follow())
        await play(row.then, Kubelet(self.world.cluster, pod))
        await asyncio.wait({following}, timeout=row.more)
        if following.done():
            raised = await _command(_result(following))
        else:
            raised = None
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        await attachment.close()
        return raised


async def _begin(verbs: Verbs, row: Row, happened: list[Happening]) -> None:
    request = LaunchRequest(
        TEMPLATE,
        ["agent"],
        WORKSPACES[row.workspace],
        name=NAME,
        helper=HelperSpec("image", HELPER_IMAGE),
        start_timeout=row.start_timeout,
        restart_allowed=row.restart_allowed,
    )
    await verbs.launch(request, happened.append)
    await verbs.resume(NAME, happened.append)


async def _result(done: asyncio.Future[None]) -> None:
    done.result()


async def _command(work: Coroutine[Any, Any, None]) -> MoorageError | None:
    try:
        await work
    except MoorageError as error:
        return error
    return None


def _writes(log: list[Json], namespace: str) -> list[str]:
    """Creates and deletes of Pods and claims that the API was asked for and granted, dry runs left out."""
    found = []
    for event in log:
        about = event.get("objectRef") or {}
        what = f"{event['verb']} {about.get('resource')}"
        meant = what in WRITES and about.get("namespace") == namespace and not about.get("subresource")
        granted = event["responseStatus"]["code"] < 300 and "dryRun=All" not in event["requestURI"]
        if meant and granted:
            found.append(what)
    return found


def open_stage(folder: Path, runner: asyncio.Runner) -> Stage:
    """``runner``: of a ``VirtualLoop``."""
    loop = runner.get_loop()
    assert isinstance(loop, VirtualLoop)
    world = World(folder, loop)
    runner.run(world.__aenter__())
    return Stage(world, runner)
