"""The link to agentctl: one authenticated, multiplexed byte stream into the main container.

Implemented by ``engine.link`` over a ``ByteStream`` (port-forward or exec tunnel). Used by sessions and
the CLI. The wire format is in docs/link-protocol.md; vectors shared with Go are in agentctl/testdata.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from moorage.ports.streams import DialledStream


@dataclass(frozen=True)
class ProcessSpec:
    """What to run. ``argv[0]`` is searched on PATH of ``env``. ``env`` is added to the container's own.
    ``input``, of the agent only: all of its stdin, which then ends; with ``tty`` it is typed, once the first
    output has come to rest."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "/workspace"
    tty: bool = False
    cols: int = 80
    rows: int = 24
    input: str = ""
    agent_env: bool = False
    """Of ``run``: the variables that the agent was started with, too; ``env`` comes before them."""


@dataclass(frozen=True)
class ExitStatus:
    """How a process ended: exactly one of ``code`` and ``signal``; both None is *unknown*, never 0."""

    code: int | None = None
    signal: int | None = None
    oom: bool = False
    error: str = ""
    """Why it could not be started: ``not_found`` or ``not_executable: <why>``; else empty."""

    @property
    def shell_code(self) -> int | None:
        """The code a shell would report (128+n for a signal, 127/126 for a failed start)."""
        if self.error:
            return 127 if self.error.startswith("not_found") else 126
        if self.signal is not None:
            return 128 + self.signal
        return self.code


@dataclass(frozen=True)
class AgentStatus:
    """The agent process as agentctl sees it. ``state``: ``none`` (never started in this epoch's journal),
    ``running``, ``draining``, ``exited``. ``oldest``..``end`` are the transcript offsets still held.
    ``start_id``: of the latest start in the journal; after a restart of agentctl its agent is ``exited``,
    with the recorded exit or, when none was recorded, an unknown one."""

    state: str
    pid: int = 0
    started_at: float = 0.0
    exit: ExitStatus | None = None
    oldest: int = 0
    end: int = 0
    start_id: str = ""


@dataclass(frozen=True)
class HelloInfo:
    """What both sides proved on this connection."""

    pod_uid: str
    epoch: str
    protocol: int
    helper_version: str
    platform: str


@dataclass(frozen=True)
class Output:
    """Transcript bytes starting at ``offset``."""

    offset: int
    data: bytes


@dataclass(frozen=True)
class Gap:
    """``length`` bytes from ``offset`` are no longer held; None: unknown how many."""

    offset: int
    length: int | None


class RemoteProcess(Protocol):
    """An ad-hoc process (``moorage exec``): pipes kept apart, or one PTY stream on channel 1."""

    @property
    def pid(self) -> int:
        """In the container; 0 when it could not be started (``wait`` says why)."""

    async def read(self) -> tuple[int, bytes] | None:
        """(1 stdout | 2 stderr, bytes); None at the end."""

    async def write(self, data: bytes) -> None: ...

    async def close_stdin(self) -> None: ...

    async def resize(self, cols: int, rows: int) -> None: ...

    async def signal(self, number: int) -> None: ...

    async def wait(self) -> ExitStatus: ...

    async def close(self) -> None:
        """Hang up: what still runs gets SIGHUP, then SIGKILL."""


@dataclass(frozen=True)
class FileEntry:
    """One entry of a listing; ``kind``: file, dir, link, other. ``uid`` and ``gid``: -1 where the helper is
    too old to say; ``target``: where a link points, as it is written there."""

    path: str
    kind: str
    size: int
    mode: int
    mtime: float
    uid: int = -1
    gid: int = -1
    target: str = ""


@dataclass(frozen=True)
class FileChange:
    """Something that happened below a watched directory, ``name`` relative to it. ``kind``: create, write,
    remove, rename (away), chmod."""

    name: str
    kind: str


@dataclass
class LeftOut:
    """What a copy does not hold because it is neither file, directory nor link: how many there are, and the
    names of the first. Filled in once the copy is complete."""

    count: int = 0
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Activity:
    """What idleness is judged from: times in seconds since the epoch, 0 for never; ``busy``: output within
    the last seconds or a process on a processor now; ``children``: the agent's live processes beside it."""

    busy: bool
    last_input: float
    last_output: float
    children: int


@dataclass(frozen=True)
class ContainerUsage:
    """What the container uses, by its cgroup; -1 where it does not say (also: no memory limit)."""

    memory_bytes: int
    memory_limit: int
    cpu_micros: int
    oom_kills: int


class Link(Protocol):
    """One open, authenticated connection. Several may be open to one agentctl at once.

    Any call raises ``LinkError`` once the connection is dead; the caller reconnects and goes on from
    its offset. ``fence``: agentctl refuses start, drain and signal of the agent from a lower number
    than it has seen.
    """

    hello: HelloInfo

    @property
    def broken(self) -> bool:
        """It is known to be dead or closed: any call would raise LinkError, and none has to be tried."""

    async def status(self) -> AgentStatus: ...

    async def start_agent(self, spec: ProcessSpec, *, base_offset: int, start_id: str) -> AgentStatus:
        """Start the agent. Idempotent by ``start_id``: the same id twice starts one process.

        ``base_offset``: the transcript offset of its first byte when the journal is empty. Raises
        Conflict when another start's agent still runs.
        """

    def output(self, offset: int) -> AsyncIterator[Output | Gap]:
        """The transcript from ``offset`` on, live; ends after the agent's exit once all was sent."""

    async def ack(self, offset: int) -> None:
        """All bytes below ``offset`` are stored durably; agentctl may drop them when it must."""

    async def send_input(self, data: bytes) -> None:
        """Bytes for the agent's stdin (or PTY)."""

    async def close_input(self) -> None: ...

    async def resize(self, cols: int, rows: int) -> None: ...

    async def signal(self, number: int) -> None:
        """Signal the agent's process group."""

    async def wait_exit(self) -> ExitStatus:
        """Wait until the agent has exited (or report at once that it has)."""

    async def drain(self, grace: float) -> ExitStatus:
        """SIGTERM to the agent's group, SIGKILL after ``grace`` seconds; returns once all of it is gone."""

    async def run(self, spec: ProcessSpec) -> RemoteProcess: ...

    async def put_tar(
        self, path: str, chunks: AsyncIterator[bytes], *, limit: int, replace: bool = False
    ) -> int:
        """Unpack a tar stream below ``path`` (checked by SHA-256 in band, hostile names refused).

        Written to a temporary directory in ``path`` and renamed entry by entry; with
        ``replace=False`` an existing entry is a Conflict and nothing is changed. Returns bytes written.
        """

    def get_tar(self, path: str, left_out: LeftOut | None = None) -> AsyncIterator[bytes]:
        """A tar stream of ``path`` (file or directory), its SHA-256 checked at the end; then ``left_out``,
        where given, says what could not be packed."""

    async def list_files(self, path: str, *, limit: int = 10_000) -> list[FileEntry]: ...

    async def file_info(self, path: str, *, follow: bool = False) -> FileEntry:
        """For this and the next four: ``ports.files.RemoteFiles``."""

    async def make_dir(self, path: str) -> bool: ...

    async def remove_path(self, path: str) -> None: ...

    async def rename_path(self, path: str, to: str) -> None: ...

    def watch_dir(self, path: str, *, recursive: bool = False) -> AsyncGenerator[FileChange | None, None]: ...

    async def usage(self) -> ContainerUsage:
        """What the container uses now."""

    async def hash_tree(self, path: str) -> str:
        """SHA-256 over the sorted names, modes and contents below ``path``."""

    async def materialize(self, path: str, chunks: AsyncIterator[bytes], *, marker: str, limit: int) -> bool:
        """Fill an empty workspace once: unpack to a temporary directory inside ``path``, then rename each
        entry, then write ``marker``. False when this very marker stands already. Conflict when the
        workspace holds other content. A crash in between is finished by calling again."""

    async def marker(self, path: str) -> str:
        """The marker of a materialized workspace, or ``""``."""

    async def dial(self, port: int) -> DialledStream:
        """Connect to 127.0.0.1:``port`` in the Pod. NotFound when nothing listens there."""

    async def close(self) -> None:
        """Say goodbye and close; repeatable."""
