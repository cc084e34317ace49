"""A node without processes: its commands are coroutines and its ports are duplex queues.

For stories about exec and port-forward between our client and the embedded API, in which a test must decide
each byte that a Pod says. Runs no Pod; whoever asks for a command or a port names it first.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from moorage.core.kinds import PODS, Json
from moorage.embedded import EmbeddedCluster
from moorage.embedded.seam import CommandNotStarted, ExecExit, LogOptions, Objects

NODE = "memory"
POD = "p"


class Console:
    """A command's three streams, from inside."""

    def __init__(self) -> None:
        self._said: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()
        self._typed: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def read(self, length: int) -> bytes:
        """Exactly ``length`` bytes of stdin, fewer only where it ended before."""
        got = b""
        while len(got) < length and (data := await self._typed.get()) is not None:
            got += data
        return got

    def out(self, data: bytes) -> None:
        self._said.put_nowait((1, data))


Program = Callable[[Console], Awaitable[int]]


class MemorySession:
    """Implements ``seam.ExecSession`` for one program."""

    def __init__(self, program: Program) -> None:
        self.console = Console()
        self._task = asyncio.create_task(self._run(program))

    async def _run(self, program: Program) -> int:
        try:
            return await program(self.console)
        finally:
            self.console._said.put_nowait(None)

    async def read(self) -> tuple[int, bytes] | None:
        return await self.console._said.get()

    async def write(self, data: bytes) -> None:
        self.console._typed.put_nowait(data)

    async def close_stdin(self) -> None:
        self.console._typed.put_nowait(None)

    async def resize(self, columns: int, rows: int) -> None: ...

    async def wait(self) -> ExecExit:
        return ExecExit(await self._task)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class Plug:
    """One end of a connection. Implements ``seam.ByteStream``."""

    def __init__(self, inward: asyncio.Queue[bytes], outward: asyncio.Queue[bytes]) -> None:
        self._in, self._out = inward, outward

    async def read(self) -> bytes:
        return await self._in.get()

    async def write(self, data: bytes) -> None:
        self._out.put_nowait(data)

    async def close(self) -> None:
        """The other side reads an end."""
        self._out.put_nowait(b"")


Server = Callable[[Plug], Awaitable[None]]


@dataclass
class MemoryNode:
    """``programs`` by the first word of a command, ``ports`` by number. ``asked``: what reached the node."""

    programs: dict[str, Program] = field(default_factory=dict)
    ports: dict[int, Server] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    name: str = NODE
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, objects: Objects) -> None:
        container = {"name": "main", "image": "localhost/none:1"}
        pod: Json = {
            "metadata": {"name": POD, "namespace": "default"},
            "spec": {"containers": [container]},
        }
        if objects.get(PODS, "default", POD) is None:
            pod["spec"]["nodeName"] = NODE
            objects.create(PODS, pod)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def logs(self, pod: Json, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        raise NotImplementedError

    async def exec(
        self, pod: Json, container: str, command: list[str], *, tty: bool, stdin: bool
    ) -> MemorySession:
        self.asked.append(f"exec {command[0]}")
        if command[0] not in self.programs:
            raise CommandNotStarted(f'exec: "{command[0]}": no such file or directory')
        return MemorySession(self.programs[command[0]])

    async def attach(self, pod: Json, container: str, *, tty: bool, stdin: bool) -> MemorySession:
        raise NotImplementedError

    async def dial(self, pod: Json, port: int) -> Plug:
        self.asked.append(f"dial {port}")
        if port not in self.ports:
            raise ConnectionRefusedError
        up: asyncio.Queue[bytes] = asyncio.Queue()
        down: asyncio.Queue[bytes] = asyncio.Queue()
        task = asyncio.ensure_future(self.ports[port](Plug(up, down)))
        self._tasks.add(task)
        return Plug(down, up)


@contextlib.asynccontextmanager
async def cluster_with(node: MemoryNode, folder: Path) -> AsyncIterator[EmbeddedCluster]:
    """A running cluster whose one Pod is on ``node``."""
    made = EmbeddedCluster(folder, [node])
    await made.start()
    try:
        yield made
    finally:
        await made.stop()
