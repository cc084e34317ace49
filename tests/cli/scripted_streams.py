"""What the scripted verbs hand out: an attachment, a process, a port. Each notes what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moorage.core.errors import LinkError, MoorageError
from moorage.ports.link import ExitStatus
from moorage.ports.sessions import Happening

if TYPE_CHECKING:
    from tests.cli.scripted import Scripted


@dataclass(frozen=True)
class Pause:
    """Wait until the attachment got a signal, a size, input that ends with ``until``, or for ever."""

    until: bytes | None = None
    signalled: bool = False
    size: tuple[int, int] | None = None


Step = Happening | Pause | MoorageError


@dataclass
class ScriptedAttachment:
    """Yields the script; notes what it was sent."""

    owner: Scripted
    steps: Sequence[Step]
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    received: bytearray = field(default_factory=bytearray)
    signals: list[int] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)

    async def happenings(self) -> AsyncIterator[Happening]:
        for step in self.steps:
            if isinstance(step, MoorageError):
                raise step
            if isinstance(step, Pause):
                await self._wait(step)
            else:
                yield step

    async def _wait(self, pause: Pause) -> None:
        while not (
            (pause.signalled and self.signals)
            or (pause.size is not None and pause.size in self.sizes)
            or (pause.until is not None and bytes(self.received).endswith(pause.until))
        ):
            self.changed.clear()
            await self.changed.wait()

    async def send_input(self, data: bytes) -> None:
        self.owner.note("send_input", bytes(data))
        self.received += data
        self.changed.set()

    async def close_input(self) -> None:
        self.owner.note("close_input")

    async def resize(self, cols: int, rows: int) -> None:
        self.owner.note("resize", cols, rows)
        self.sizes.append((cols, rows))
        self.changed.set()

    async def signal(self, number: int) -> None:
        self.owner.note("signal", number)
        self.signals.append(number)
        self.changed.set()

    async def close(self) -> None:
        self.owner.note("attachment.close")


@dataclass
class ScriptedProcess:
    """A remote process: its output, then its exit."""

    owner: Scripted
    output: Sequence[tuple[int, bytes]]
    exit: ExitStatus
    echo: bool = False
    blocks: bool = False
    deaf: bool = False
    queue: asyncio.Queue[tuple[int, bytes] | None] = field(default_factory=asyncio.Queue)
    pid: int = 77

    def __post_init__(self) -> None:
        for item in self.output:
            self.queue.put_nowait(item)
        if not (self.echo or self.blocks):
            self.queue.put_nowait(None)

    async def read(self) -> tuple[int, bytes] | None:
        return await self.queue.get()

    async def write(self, data: bytes) -> None:
        self.owner.note("process.write", bytes(data))
        if data == b"\x03" and self.blocks and not self.deaf:
            self.queue.put_nowait(None)
        if self.echo:
            self.queue.put_nowait((1, bytes(data)))

    async def close_stdin(self) -> None:
        self.owner.note("process.close_stdin")
        if self.echo:
            self.queue.put_nowait(None)

    async def resize(self, cols: int, rows: int) -> None:
        self.owner.note("process.resize", cols, rows)

    async def signal(self, number: int) -> None:
        self.owner.note("process.signal", number)
        if not self.deaf:
            self.queue.put_nowait(None)

    async def wait(self) -> ExitStatus:
        return self.exit

    async def close(self) -> None:
        self.owner.note("process.close")


@dataclass
class ScriptedPort:
    """A server in a Pod that answers with what it read, in capitals, once the client has ended; ``break`` as
    first word breaks the connection, ``bye`` ends it at once."""

    owner: Scripted
    heard: bytearray = field(default_factory=bytearray)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    told: bool = False

    async def read(self) -> bytes:
        await self.ended.wait()
        if self.heard.startswith(b"break"):
            raise LinkError("it broke")
        said, self.told = (b"" if self.told else bytes(self.heard).upper()), True
        return said

    async def write(self, data: bytes) -> None:
        if self.ended.is_set():
            raise LinkError("the port in the Pod has closed the connection")
        self.heard += data
        if self.heard.startswith((b"break", b"bye")):
            self.ended.set()

    async def close_write(self) -> None:
        self.owner.note("port.close_write")
        self.ended.set()

    async def close(self) -> None:
        self.owner.note("port.close")
