"""Everything around the verbs: one cluster for many runs, and for each run a namespace with strangers in it.

The verbs, engine, kube adapter and store are the product's, composed as ``moorage.main`` does it. Only the
node is scripted, and time is skipped where all wait (``virtual_time``).
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from moorage import kube
from moorage.core.errors import NotFound
from moorage.core.kinds import CLAIMS, EVENTS, NAMESPACES, PODS, Json
from moorage.core.session import Session
from moorage.embedded import EmbeddedCluster
from moorage.embedded.registry.kinds import key
from moorage.embedded.storage.store import key_of
from moorage.engine.sources import Sources
from moorage.ports.cluster import Cluster
from moorage.ports.store import Store
from moorage.sessions.executors import ExecutorConfig, Executors
from moorage.sessions.parts import Parts
from moorage.sessions.verbs import Verbs
from moorage.store import current_owner, open_store
from moorage.system import SystemIds
from tests.faults.knob import Armed, Surroundings
from tests.faults.machine.node import ScriptedNode
from tests.faults.machine.virtual_time import VirtualClock, VirtualLoop

NAME = "s"
GIVEN = "given"
"""A claim that a person made: sessions may use it, and never delete it."""


class World:
    """One cluster; enter it once."""

    def __init__(self, folder: Path, loop: VirtualLoop) -> None:
        self.folder, self.loop = folder, loop
        self.armed = Armed()
        self.node = ScriptedNode(self.armed.pod_status)
        clock = VirtualClock(loop)
        self.cluster = EmbeddedCluster(folder / "cluster", [self.node], now=clock.now)
        self.log: list[Json] = []
        self._runs = 0

    async def __aenter__(self) -> World:
        await self.cluster.start()
        self.armed.install(self.cluster)
        self.cluster.set_audit(self._heard)
        store = await open_store(self.folder / "template")  # migrated once, copied for each run
        await store.close()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.cluster.stop()

    def _heard(self, event: Json) -> None:
        self.log.append(event)
        self.armed.heard(event)

    async def place(self) -> Place:
        """A new namespace, data folder and kubeconfig."""
        self._runs += 1
        nodes = self.cluster.nodes
        await self.settled(lambda: self.node in nodes)  # a fault of the run before took it away for a while
        self.node.check()
        namespace = f"run-{self._runs}"
        objects = self.cluster.objects()
        objects.create(NAMESPACES, {"metadata": {"name": namespace}})
        await self.settled(lambda: self._furnished(namespace))
        folder = self.folder / namespace
        shutil.copytree(self.folder / "template", folder / "data")
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_bytes(self.cluster.kubeconfig.read_bytes())
        return Place(self, namespace, folder, Surroundings(kubeconfig))

    def _furnished(self, namespace: str) -> bool:
        accounts = self.cluster.registry.kinds.find("", "v1", "serviceaccounts")
        assert accounts is not None
        return self.cluster.store.get(accounts.key, (namespace, "default")) is not None

    async def settled(self, holds: Callable[[], bool]) -> None:
        """Let the controllers and the node go on until it holds."""
        for tries in range(1000):
            if holds():
                return
            pause = 0.01 if tries < 100 else 1.0
            await asyncio.sleep(pause)  # sleep: lets the others go on, and takes no time here
        raise AssertionError("the cluster did not come to rest")

    def swept(self, namespace: str) -> None:
        """Take away what a run leaves, so that the next ones are as fast as the first."""
        store = self.cluster.store
        for resource in (PODS, CLAIMS, EVENTS):
            for obj in store.items(key(resource), namespace):
                store.remove(key(resource), key_of(obj))


async def _record(store: Store) -> Session | None:
    try:
        return await store.sessions.get(NAME)
    except NotFound:
        return None


@dataclass
class Place:
    """One run's namespace, seen from its person."""

    world: World
    namespace: str
    folder: Path
    around: Surroundings
    record: Session | None = None
    """The session as the store had it at the end of the last command."""
    strangers: list[tuple[str, str, str]] = field(default_factory=list)
    """(plural, name, uid) of what is not ours."""

    def objects(self, plural: str) -> dict[str, Json]:
        resource = {"pods": PODS, "persistentvolumeclaims": CLAIMS}[plural]
        found = self.world.cluster.objects().list(resource, self.namespace)
        return {obj["metadata"]["name"]: obj for obj in found}

    def stranger(self, plural: str, obj: Json) -> None:
        """Put something of somebody else's here."""
        resource = {"pods": PODS, "persistentvolumeclaims": CLAIMS}[plural]
        obj = {**obj, "metadata": {**obj["metadata"], "namespace": self.namespace}}
        made = self.world.cluster.objects("somebody").create(resource, obj)
        self.strangers.append((plural, made["metadata"]["name"], made["metadata"]["uid"]))

    @contextlib.asynccontextmanager
    async def command(self) -> AsyncIterator[Verbs]:
        """What one process of ``moorage`` has, from its start to its end."""
        self.world.armed.surround(self.around)
        store = await open_store(self.folder / "data")
        config = ExecutorConfig(str(self.around.kubeconfig), "", self.namespace)

        async def connect(wanted: ExecutorConfig) -> Cluster:
            return kube.connect(wanted.kubeconfig, None, wanted.namespace)

        clock = VirtualClock(self.world.loop, self.around.offset)
        parts = Parts(
            store,
            Executors(store, connect, config),
            Sources(self.folder / "sources"),
            clock,
            SystemIds(),
            current_owner(),
        )
        verbs = Verbs(parts)
        try:
            yield verbs
        finally:
            self.record = await _record(store)
            await verbs.close()
            self.world.armed.undo(self.around)

    def left(self) -> None:
        """The run is over."""
        self.world.swept(self.namespace)
        shutil.rmtree(self.folder, ignore_errors=True)
