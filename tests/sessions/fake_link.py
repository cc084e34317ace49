"""agentctl in a variable: one per Pod, as its link shows it. For the stories of this folder.

``log`` is shared with the fixture that notes what the store was given, so that a test can read the order.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from moorage.core.errors import LinkError
from moorage.engine.bounded_tar import entries
from moorage.engine.workspace_copy import tree_hash
from moorage.ports.link import AgentStatus, ExitStatus, Gap, HelloInfo, LeftOut, Output, ProcessSpec


@dataclass
class FakeAgent:
    """The helper in one Pod. ``held`` begins at transcript offset ``base``; ``last_words`` are written when
    it is asked to end; ``starting`` is told of each start before it happens;
    ``markers``: of what was filled, by directory; ``workspace``: all of it, as a tar; ``copied`` is told of
    each copy once it is made."""

    pod_uid: str
    log: list[str]
    epoch: str = "epoch-1"
    state: str = "none"
    start_id: str = ""
    exit: ExitStatus | None = None
    base: int = 0
    held: bytes = b""
    markers: dict[str, str] = field(default_factory=dict)
    last_words: bytes = b""
    starts: list[ProcessSpec] = field(default_factory=list)
    unpacked: list[bytes] = field(default_factory=list)
    workspace: bytes = b""
    copied: Callable[[], None] = lambda: None
    put: dict[str, bytes] = field(default_factory=dict)
    broken: bool = False
    starting: Callable[[str], Awaitable[None]] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def _notify(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def write(self, data: bytes) -> None:
        self.held += data
        self._notify()

    def end(self, how: ExitStatus) -> None:
        self.state, self.exit = "exited", how
        self._notify()

    def cut(self) -> None:
        """Every open link breaks; a new one works."""
        self.broken = True
        self._notify()
        self.broken = False


@dataclass
class FakePort:
    """A connection that says which Pod it leads into."""

    pod_uid: str

    async def read(self) -> bytes:
        said, self.pod_uid = self.pod_uid.encode(), ""
        return said

    async def write(self, data: bytes) -> None: ...

    async def close_write(self) -> None: ...

    async def close(self) -> None: ...


class FakeLink:
    """Implements ``ports.link.Link`` as far as an owner uses it."""

    def __init__(self, agent: FakeAgent, fence: int) -> None:
        self.agent = agent
        self.fence = fence
        self.hello = HelloInfo(agent.pod_uid, agent.epoch, 1, "test", "linux/amd64")
        self.closed = False
        self.broken = False

    async def status(self) -> AgentStatus:
        agent = self.agent
        end = agent.base + len(agent.held)
        return AgentStatus(agent.state, 7, 0.0, agent.exit, agent.base, end, agent.start_id)

    async def start_agent(self, spec: ProcessSpec, *, base_offset: int, start_id: str) -> AgentStatus:
        agent = self.agent
        agent.log.append(f"start {start_id}")
        if agent.starting is not None:
            await agent.starting(start_id)
        if agent.start_id != start_id:
            agent.starts.append(spec)
            if agent.state == "none":
                agent.base = base_offset
            agent.state, agent.start_id, agent.exit = "running", start_id, None
        return await self.status()

    async def output(self, offset: int) -> AsyncIterator[Output | Gap]:
        agent = self.agent
        agent.log.append(f"output from {offset}")
        if offset < agent.base:
            yield Gap(offset, agent.base - offset)
            offset = agent.base
        while True:
            changed = agent.changed
            data = agent.held[offset - agent.base :]
            if data:
                yield Output(offset, data)
                offset += len(data)
            elif agent.state == "exited":
                return
            else:
                await changed.wait()
                if agent.broken:
                    raise LinkError("cut")

    async def ack(self, offset: int) -> None:
        self.agent.log.append(f"ack {offset}")

    async def wait_exit(self) -> ExitStatus:
        while self.agent.exit is None:
            await self.agent.changed.wait()
        return self.agent.exit

    async def drain(self, grace: float) -> ExitStatus:
        self.agent.log.append("drain")
        self.agent.write(self.agent.last_words)
        self.agent.end(ExitStatus(signal=15))
        return ExitStatus(signal=15)

    async def marker(self, path: str) -> str:
        return self.agent.markers.get(path, "")

    async def materialize(self, path: str, chunks: AsyncIterator[bytes], *, marker: str, limit: int) -> bool:
        self.agent.log.append("materialize")
        if self.agent.markers.get(path) == marker:
            return False
        self.agent.unpacked.append(b"".join([chunk async for chunk in chunks]))
        self.agent.workspace = self.agent.unpacked[-1]
        self.agent.markers[path] = marker
        return True

    async def get_tar(self, path: str, left_out: LeftOut | None = None) -> AsyncIterator[bytes]:
        self.agent.log.append("get tar")
        yield self.agent.workspace
        self.agent.copied()

    async def hash_tree(self, path: str) -> str:
        return tree_hash(entries(io.BytesIO(self.agent.workspace)))

    async def put_tar(
        self, path: str, chunks: AsyncIterator[bytes], *, limit: int, replace: bool = False
    ) -> int:
        self.agent.log.append(f"put {path}")
        self.agent.put[path] = b"".join([chunk async for chunk in chunks])
        return len(self.agent.put[path])

    async def dial(self, port: int) -> FakePort:
        if self.agent.state == "gone":
            raise LinkError("the link is dead")
        self.agent.log.append(f"dial {port}")
        return FakePort(self.agent.pod_uid)

    async def close_input(self) -> None:
        self.agent.log.append("close input")

    async def close(self) -> None:
        self.closed = True

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"an owner has no business with {name}")
