"""What the two faces of the SDK take and give: plain values, named as E2B names them.

Shared by all modules of ``sdk``. No I/O and no decisions.
"""

from __future__ import annotations

import stat
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import IO, TypeAlias, TypedDict, TypeVar

from moorage.ports.link import FileEntry

T = TypeVar("T")
AsyncHandler: TypeAlias = Callable[[T], Awaitable[None] | None]
"""Told of each piece as it comes; the next one waits until it is done."""
Handler: TypeAlias = Callable[[T], None]
AsyncData: TypeAlias = str | bytes | IO[bytes] | IO[str] | AsyncIterable[bytes]
Data: TypeAlias = str | bytes | IO[bytes] | IO[str] | Iterable[bytes]


class WriteEntry(TypedDict):
    """A file for ``write_files``."""

    path: str
    data: str | bytes | IO[bytes] | IO[str]


@dataclass(frozen=True)
class CommandResult:
    """How a command ended. ``exit_code`` is what a shell would report; ``error`` says why it is not 0 where
    the command did not choose it (a signal, no such program). ``timed_out``: it was killed for its time."""

    stderr: str
    stdout: str
    exit_code: int
    error: str | None = None
    timed_out: bool = False


@dataclass(frozen=True)
class PtySize:
    """Of a terminal, in characters."""

    rows: int
    cols: int


@dataclass(frozen=True)
class ProcessInfo:
    """A command that runs. ``envs``: what it was given beside the sandbox's own."""

    pid: int
    cmd: str
    args: list[str]
    envs: dict[str, str] = field(repr=False)
    cwd: str
    tag: str | None = None


Processes: TypeAlias = list[ProcessInfo]


class FileType(Enum):
    """What lies at a path."""

    FILE = "file"
    DIR = "dir"
    SYMLINK = "symlink"


@dataclass(frozen=True)
class WriteInfo:
    """A file that was written."""

    name: str
    type: FileType | None
    path: str


@dataclass(frozen=True)
class EntryInfo(WriteInfo):
    """A path in the sandbox. ``type`` None: neither file, directory nor link. ``mode``: permission bits;
    ``owner`` and ``group`` are numbers as text, since their names are the image's matter."""

    size: int
    mode: int
    permissions: str
    owner: str
    group: str
    modified_time: datetime
    symlink_target: str | None = None


Entries: TypeAlias = list[EntryInfo]
_TYPES = {"file": FileType.FILE, "dir": FileType.DIR, "link": FileType.SYMLINK}


def entry_info(entry: FileEntry, path: str) -> EntryInfo:
    """An entry as agentctl tells it, under the ``path`` that was asked for: where a node has no mounts of its
    own, agentctl's is another."""
    kind = _TYPES.get(entry.kind)
    return EntryInfo(
        name=path.rpartition("/")[2] or "/",
        type=kind,
        path=path,
        size=entry.size,
        mode=entry.mode,
        permissions=stat.filemode(entry.mode)[1:],
        owner=str(entry.uid) if entry.uid >= 0 else "",
        group=str(entry.gid) if entry.gid >= 0 else "",
        modified_time=datetime.fromtimestamp(entry.mtime, UTC),
        symlink_target=entry.target if kind is FileType.SYMLINK else None,
    )


class FilesystemEventType(Enum):
    """What happened; RENAME is away from a name, its new one is CREATE."""

    CHMOD = "chmod"
    CREATE = "create"
    REMOVE = "remove"
    RENAME = "rename"
    WRITE = "write"


@dataclass(frozen=True)
class FilesystemEvent:
    """``name`` is relative to the watched directory; ``entry`` where ``include_entry`` asked for it and the
    path is still there."""

    name: str
    type: FilesystemEventType
    entry: EntryInfo | None = None


class SandboxState(Enum):
    """The words of ``moorage ls``. E2B has RUNNING and PAUSED only."""

    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    STOPPING = "stopping"
    UNHEALTHY = "unhealthy"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class SandboxInfo:
    """A sandbox as it was observed. ``end_at``: when this program removes it, where it was given a timeout;
    ``reason``: why the state is what it is, "" where there is nothing to say."""

    sandbox_id: str
    name: str
    template_id: str
    metadata: dict[str, str]
    started_at: datetime
    end_at: datetime | None
    state: SandboxState
    reason: str


@dataclass(frozen=True)
class SandboxQuery:
    """What ``list`` shows: sandboxes with all of ``metadata``, in one of ``state``, made after
    ``started_after``."""

    metadata: dict[str, str] | None = None
    state: list[SandboxState] | None = None
    started_after: datetime | None = None


@dataclass(frozen=True)
class SandboxMetrics:
    """What the main container uses, by its cgroup: bytes (``mem_total`` -1: no limit), microseconds on a
    processor since it began, processes killed for lack of memory."""

    timestamp: datetime
    mem_used: int
    mem_total: int
    cpu_used_micros: int
    oom_kills: int


Metrics: TypeAlias = list[SandboxMetrics]
