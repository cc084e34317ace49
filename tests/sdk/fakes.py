"""Verbs that play a script, for the SDK: processes that a test holds in its hand, files in a dict."""

from __future__ import annotations

import asyncio
import io
import posixpath
import tarfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from moorage.core.errors import FileNotFound, LinkError, SessionNotFound
from moorage.core.session import Phase
from moorage.ports.link import ExitStatus, FileChange, FileEntry, LeftOut, ProcessSpec
from moorage.ports.sessions import SessionView
from moorage.sdk.launching import IDLE
from tests.cli.scripted import Scripted
from tests.cli.scripted_views import make_view


def sandbox_view(name: str = "brisk-otter", **fields: Any) -> SessionView:
    """A view of a sandbox."""
    from moorage.core.session import AgentSpec

    return make_view(name, agent=AgentSpec(argv=IDLE), **fields)


@dataclass
class Process:
    """A remote process; the test says what it prints (``say``) and how it ends (``end``)."""

    spec: ProcessSpec
    pid: int = 7
    parts: asyncio.Queue[tuple[int, bytes] | None] = field(default_factory=asyncio.Queue)
    status: ExitStatus = field(default_factory=lambda: ExitStatus(code=0))
    told: list[Any] = field(default_factory=list)
    lost: bool = False
    asked: int = 0

    async def heard(self) -> None:
        """Wait until all that was said is dealt with, and the next is asked for."""
        await self.parts.join()

    def say(self, data: bytes, channel: int = 1) -> Process:
        self.parts.put_nowait((channel, data))
        return self

    def end(self, **status: Any) -> Process:
        self.status = ExitStatus(**(status or {"code": 0}))
        self.parts.put_nowait(None)
        return self

    async def read(self) -> tuple[int, bytes] | None:
        if self.asked:
            self.parts.task_done()
        self.asked += 1
        part = await self.parts.get()
        if self.lost:
            raise LinkError("the link is dead")
        return part

    async def write(self, data: bytes) -> None:
        self.told.append(data)

    async def close_stdin(self) -> None:
        self.told.append("eof")

    async def resize(self, cols: int, rows: int) -> None:
        self.told.append((cols, rows))

    async def signal(self, number: int) -> None:
        self.told.append(f"signal {number}")
        self.end(signal=number)

    async def wait(self) -> ExitStatus:
        return self.status

    async def close(self) -> None:
        self.told.append("closed")


@dataclass
class Files:
    """Files by path; directories are those that have files, and ``dirs``."""

    contents: dict[str, bytes] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    dirs: set[str] = field(default_factory=lambda: {"/workspace"})
    changes: asyncio.Queue[FileChange | None] = field(default_factory=asyncio.Queue)

    def entry(self, path: str) -> FileEntry:
        if path in self.contents:
            return FileEntry(path, "file", len(self.contents[path]), self.modes.get(path, 0o644), 1.5, 0, 0)
        if path in self.dirs:
            return FileEntry(path, "dir", 0, 0o755, 1.5, 0, 0)
        raise FileNotFound(f"there is no {path}")

    async def info(self, path: str, *, follow: bool = False) -> FileEntry:
        return self.entry(path)

    async def make_dir(self, path: str) -> bool:
        made = path not in self.dirs
        self.dirs.add(path)
        return made

    async def remove(self, path: str) -> None:
        self.contents.pop(path, None)

    async def rename(self, path: str, to: str) -> None:
        self.entry(path)
        self.contents[to] = self.contents.pop(path)

    async def watch(self, path: str, *, recursive: bool = False) -> AsyncGenerator[FileChange | None, None]:
        self.entry(path)
        yield None
        while (change := await self.changes.get()) is not None:
            yield change
        raise FileNotFound(f"there is no {path}")


@dataclass
class Verbs(Scripted):
    """``processes`` are handed out in order; ``fail_resume``: raised by it."""

    views: list[SessionView] = field(default_factory=lambda: [sandbox_view()])
    processes: list[Process] = field(default_factory=list)
    disk: Files = field(default_factory=Files)
    specs: list[ProcessSpec] = field(default_factory=list)
    closed: int = 0
    on_remove: Callable[[], None] = lambda: None

    def note(self, *call: Any) -> None:
        if call[0] == "remove":
            self.on_remove()
        super().note(*call)

    def ready(self, **status: Any) -> Process:
        """The next process; with a status it has ended already."""
        process = Process(ProcessSpec([]), pid=7 + len(self.processes))
        self.processes.append(process)
        return process.end(**status) if status else process

    async def exec(self, name: str, spec: ProcessSpec) -> Any:
        self.note("exec", name)
        self._view(name)
        self.specs.append(spec)
        return self.processes[len(self.specs) - 1]

    def _view(self, name: str) -> SessionView:
        for view in self.views:
            if name in (view.session.name, view.session.id):
                return view
        raise SessionNotFound(f"there is no session {name!r}", field="session")

    def filesystem(self, name: str) -> Files:
        return self.disk

    async def list_files(self, name: str, path: str) -> list[FileEntry]:
        if path in self.disk.contents:
            return [self.disk.entry(path)]
        inside = [one for one in (*self.disk.contents, *self.disk.dirs) if posixpath.dirname(one) == path]
        return [self.disk.entry(one) for one in inside if one != path]

    async def get_tar(self, name: str, path: str, left_out: LeftOut | None = None) -> AsyncIterator[bytes]:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            info = tarfile.TarInfo(posixpath.basename(path))
            info.size = len(self.disk.contents[path])
            archive.addfile(info, io.BytesIO(self.disk.contents[path]))
        whole = out.getvalue()
        for at in range(0, len(whole), 700):
            yield whole[at : at + 700]

    async def put_tar(
        self, name: str, path: str, chunks: AsyncIterator[bytes], *, replace: bool = True
    ) -> int:
        data = b"".join([chunk async for chunk in chunks])
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                at = posixpath.join(path, member.name)
                content = archive.extractfile(member)
                assert content is not None
                self.disk.contents[at], self.disk.modes[at] = content.read(), member.mode
        return len(data)

    async def close(self) -> None:
        self.closed += 1


def paused(view: SessionView) -> SessionView:
    """The view once it is paused."""
    import dataclasses

    import msgspec

    state = msgspec.structs.replace(view.session.state, phase=Phase.PRESERVED, pod="released")
    session = msgspec.structs.replace(view.session, state=state)
    return dataclasses.replace(view, session=session, word="Paused")
