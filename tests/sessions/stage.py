"""Everything a story needs: a real store, the real verbs, and between them and Kubernetes a fake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from moorage.core.errors import LinkError
from moorage.core.kinds import PODS
from moorage.core.session import Session, WorkspaceMode, WorkspaceSpec
from moorage.engine import connection, transports
from moorage.engine.bootstrap import Reached
from moorage.engine.sources import Sources
from moorage.ports.cluster import Cluster
from moorage.ports.link import Output
from moorage.ports.sessions import Exited, Happening, LaunchRequest, Progress
from moorage.ports.store import Store
from moorage.sessions import launch
from moorage.sessions.executors import ExecutorConfig, Executors
from moorage.sessions.parts import Parts
from moorage.sessions.verbs import Verbs
from moorage.store import current_owner
from moorage.system import SystemIds

from .fake_cluster import FakeCluster
from .fake_link import FakeAgent, FakeLink
from .fake_watch import Pulse

NOW = 1_800_000_000.0
TEMPLATE = b"""\
apiVersion: v1
kind: PodTemplate
metadata: {name: test}
template:
  spec:
    containers:
      - {name: agent, image: "localhost/busybox:test"}
"""
MODES = {
    "managed_pvc": WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Gi"),
    "existing_claim": WorkspaceSpec(WorkspaceMode.EXISTING_CLAIM, claim_name="given"),
    "empty_dir": WorkspaceSpec(WorkspaceMode.EMPTY_DIR),
}


class FakeClock:
    """Time stands still until a test moves it. Short sleeps return at once, longer ones never do."""

    def __init__(self, pulse: Pulse) -> None:
        self.time = NOW
        self._pulse = pulse

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self._pulse.beat()
        await (asyncio.sleep(0) if seconds < 1 else asyncio.Event().wait())


@dataclass
class Stage:
    """``log``: what the link was told and what the store was given, in order. ``behave`` is what an agent
    does when it starts; by default it says hello and runs on."""

    cluster: FakeCluster
    store: Store
    parts: Parts
    verbs: Verbs
    clock: FakeClock
    log: list[str] = field(default_factory=list)
    agents: dict[str, FakeAgent] = field(default_factory=dict)
    said: list[Progress] = field(default_factory=list)
    delivered: set[str] = field(default_factory=set)

    @property
    def agent(self) -> FakeAgent:
        """The helper in the one Pod there is."""
        return self.agent_of(self.cluster.only(PODS)["metadata"]["uid"])

    @property
    def looks(self) -> int:
        """How often a Pod was read."""
        return len([c for c in self.cluster.calls if (c.verb, c.plural) == ("get", PODS.plural)])

    def agent_of(self, uid: str) -> FakeAgent:
        return self.agents.setdefault(uid, FakeAgent(uid, self.log))

    async def launch(self, workspace: str = "managed_pvc", name: str = "calm-cove", **more: Any) -> Session:
        """Put a session on record, as ``run`` does before it attaches."""
        request = LaunchRequest(TEMPLATE, ["agent"], MODES[workspace], name=name, **more)
        return await self.verbs.launch(request, self.said.append)

    async def running(self, workspace: str = "managed_pvc", **more: Any) -> Session:
        """A session whose agent runs, and whom nobody drives."""
        await self.launch(workspace, **more)
        return (await self.verbs.resume("calm-cove", self.said.append)).session

    async def record(self, name: str = "calm-cove") -> Session:
        return await self.store.sessions.get(name)

    async def attend(self, until: Callable[[Happening], bool]) -> list[Happening]:
        """Attach, and leave after the first happening for which ``until`` holds."""
        seen: list[Happening] = []
        following = self.verbs.attach("calm-cove").happenings()
        try:
            async for happening in following:
                seen.append(happening)
                if until(happening):
                    break
        finally:
            await following.aclose()  # type: ignore[attr-defined]
        return seen


def ended(happening: Happening) -> bool:
    return isinstance(happening, Exited)


async def until(stage: Stage, holds: Callable[[], bool], during: asyncio.Task[Any] | None = None) -> None:
    """Let the others go on until it holds, or until the task that could make it hold is over."""
    while not holds() and not (during and during.done()):
        beat = asyncio.ensure_future(stage.cluster.pulse.next())
        await asyncio.wait({beat, during} if during else {beat}, return_when=asyncio.FIRST_COMPLETED)
        beat.cancel()


async def rounds(stage: Stage, count: int, during: asyncio.Task[Any]) -> None:
    """Let an owner look at its Pod ``count`` times more."""
    for _ in range(count):
        before = stage.looks
        stage.cluster.wake()
        await until(stage, lambda before=before: stage.looks > before, during)  # type: ignore[misc]


def shown(happenings: Sequence[Happening]) -> bytes:
    """The output among them."""
    return b"".join(item.data for item in happenings if isinstance(item, Output))


def build(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """The verbs over the real store; only Kubernetes and the way to agentctl are fakes."""
    cluster = FakeCluster()
    clock = FakeClock(cluster.pulse)
    cluster.now = clock.now

    async def connect(config: ExecutorConfig) -> Cluster:
        return cluster

    executors = Executors(store, connect, ExecutorConfig("", "test", cluster.namespace))
    parts = Parts(store, executors, Sources(folder / "sources"), clock, SystemIds(), current_owner())
    stage = Stage(cluster, store, parts, Verbs(parts), clock)
    _note_appends(stage, monkeypatch)
    _lead_links_to(stage, monkeypatch)
    return stage


def _note_appends(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    append = stage.store.transcripts.append

    async def noted(*args: Any) -> int:
        end = await append(*args)
        stage.log.append(f"stored {end}")
        return end

    monkeypatch.setattr(stage.store.transcripts, "append", noted)


def _lead_links_to(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def uid_of(pod: str) -> str:
        found = stage.cluster.objects.get((PODS.plural, pod))
        return str(found["metadata"]["uid"]) if found else ""

    async def deliver(cluster: Any, pod: str, *args: Any, expect_pod_uid: str, **more: Any) -> None:
        if uid_of(pod) != expect_pod_uid:
            raise LinkError("another Pod")
        stage.delivered.add(expect_pod_uid)

    async def connect(cluster: Any, pod: str, container: str, opening: Any, **more: Any) -> Reached[Any]:
        return Reached(await opening(pod), "exec", lasting=False)

    async def open_link(pod: str, nonce: bytes, *, fence: int, expect_pod_uid: str) -> FakeLink:
        uid = uid_of(pod)
        if uid != expect_pod_uid or uid not in stage.delivered:
            raise LinkError("nobody answers")
        return FakeLink(stage.agent_of(uid), fence)

    monkeypatch.setattr(connection, "install_and_deliver", deliver)
    monkeypatch.setattr(transports, "connect", connect)
    monkeypatch.setattr(connection, "open_link", open_link)
    monkeypatch.setattr(connection, "helper_binary", lambda platform: b"ELF")
    monkeypatch.setattr(launch, "helper_binary", lambda platform: b"ELF")
    monkeypatch.setattr(connection, "check_platform", lambda binary, platform: None)
