"""The link's JSON as the types of ``ports.link``, both ways. Used by ``engine.link`` only.

The Pod may be hostile: what agentctl says is taken only in the types and ranges it is promised in (see
docs/link-protocol.md), and everything else is a LinkError. Nothing unchecked goes on to plans and records.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec

from moorage.core.errors import LinkError
from moorage.core.wire.mux import MESSAGE
from moorage.ports.link import (
    Activity,
    AgentStatus,
    ContainerUsage,
    ExitStatus,
    FileChange,
    FileEntry,
    LeftOut,
    ProcessSpec,
)

T = TypeVar("T")

MOST = 1 << 62
"""The largest number taken: sums of two still fit 64 bits, in the store and in agentctl."""
FURTHEST = 1 << 53
"""The furthest place of a transcript: 9 PB of output. What follows it still fits 64 bits."""
LONGEST_PATH = 4096 + 256
"""Characters of a path in a listing: the longest that Linux takes, and a name in it."""
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Measure = Annotated[int, msgspec.Meta(ge=-1, le=(1 << 63) - 1)]  # a cgroup without limit says almost 2^63
Offset = Annotated[int, msgspec.Meta(ge=0, le=FURTHEST)]
Time = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]


class _Exit(msgspec.Struct):
    """What is not said is unknown, never success."""

    code: Annotated[int, msgspec.Meta(ge=0, le=255)] | None = None
    signal: Annotated[int, msgspec.Meta(ge=1, le=127)] | None = None
    oom: bool = False
    error: str | None = ""


class _LeftOut(msgspec.Struct):
    left_out: Count = 0
    left_out_names: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=1000)]], msgspec.Meta(max_length=100)
    ] = []


class _Status(msgspec.Struct):
    state: Literal["none", "running", "draining", "exited"]
    pid: Count
    started_at: Time
    exit: _Exit | None
    oldest: Offset
    end: Offset
    start_id: str


class _Entry(msgspec.Struct):
    path: Annotated[str, msgspec.Meta(max_length=LONGEST_PATH)]
    kind: Literal["file", "dir", "link", "other"]
    size: Count
    mode: Count
    mtime: Time
    uid: Measure = -1
    gid: Measure = -1
    target: Annotated[str, msgspec.Meta(max_length=LONGEST_PATH)] = ""

    def port(self) -> FileEntry:
        return FileEntry(
            self.path, self.kind, self.size, self.mode, self.mtime, self.uid, self.gid, self.target
        )


class _Change(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(max_length=LONGEST_PATH)] = ""
    type: Literal["", "create", "write", "remove", "rename", "chmod"] = ""


class _Started(msgspec.Struct):
    pid: Count = 0


class _Activity(msgspec.Struct):
    busy: bool
    last_input: Time
    last_output: Time
    children: Count


class _Usage(msgspec.Struct):
    memory_bytes: Measure
    memory_limit: Measure
    cpu_micros: Measure
    oom_kills: Measure


class _Mark(msgspec.Struct):
    offset: Offset
    gap: Offset | None = None


def spec(process: ProcessSpec) -> dict[str, Any]:
    """A process to start."""
    said: dict[str, Any] = {
        "argv": list(process.argv),
        "env": dict(process.env),
        "cwd": process.cwd,
        "tty": process.tty,
        "cols": process.cols,
        "rows": process.rows,
    }
    if process.agent_env:
        said["agent_env"] = True
    return {**said, "input": process.input} if process.input else said


def exit_status(said: dict[str, Any]) -> ExitStatus:
    """How a process ended; what was not said is unknown."""
    return _exit(_strict(said, _Exit))


def agent_status(said: dict[str, Any]) -> AgentStatus:
    """The agent as agentctl sees it."""
    status = _strict(said, _Status)
    return AgentStatus(
        state=status.state,
        pid=status.pid,
        started_at=status.started_at,
        exit=None if status.exit is None else _exit(status.exit),
        oldest=status.oldest,
        end=status.end,
        start_id=status.start_id,
    )


def file_entries(channel: int, data: bytes, room: int) -> list[FileEntry]:
    """One message of a listing: some entries, and at most ``room``, so that a listing comes to an end."""
    entries = _decoded(data, list[_Entry]) if channel == MESSAGE else []
    if not 0 < len(entries) <= room:
        raise _nonsense("a listing of more entries than were asked for, or of none in a message")
    return [entry.port() for entry in entries]


def file_entry(said: dict[str, Any]) -> FileEntry:
    """What one path is."""
    return _strict(said, _Entry).port()


def file_change(channel: int, data: bytes) -> FileChange | None:
    """One message of a watch; None for the first, which says that the watch stands."""
    if channel != MESSAGE:
        raise _nonsense("bytes from a watch")
    change = _decoded(data, _Change)
    return FileChange(change.name, change.type) if change.type else None


def pid(data: bytes) -> int:
    """The process that a run began."""
    return _decoded(data, _Started).pid


def mark(data: bytes) -> tuple[int, int]:
    """A message within the transcript: (offset of what follows, bytes missing from there on)."""
    said = _decoded(data, _Mark)
    gap = said.gap or 0
    if said.offset + gap > FURTHEST:
        raise _nonsense("a gap beyond the furthest place of a transcript")
    return said.offset, gap


def check_known(place: int, status: AgentStatus) -> None:
    """LinkError when output is said to go on where the agent, by its own status, has not been yet."""
    if place > status.end:
        raise _nonsense(f"output at byte {place}, when there are {status.end} bytes")


def activity(said: dict[str, Any]) -> Activity:
    """What idleness is judged from."""
    now = _strict(said, _Activity)
    return Activity(now.busy, now.last_input, now.last_output, now.children)


def usage(said: dict[str, Any]) -> ContainerUsage:
    """What the container uses."""
    now = _strict(said, _Usage)
    return ContainerUsage(now.memory_bytes, now.memory_limit, now.cpu_micros, now.oom_kills)


def text(said: dict[str, Any], name: str) -> str:
    """One string of an answer."""
    return _strict(said.get(name), str)


def count(said: dict[str, Any], name: str) -> int:
    """One number of an answer, not below 0."""
    number: int = _strict(said.get(name), Count)
    return number


def left_out(said: dict[str, Any]) -> LeftOut:
    """What a download does not hold; an older agentctl says nothing of it."""
    told = _strict(said, _LeftOut)
    return LeftOut(told.left_out, told.left_out_names)


def flag(said: dict[str, Any], name: str) -> bool:
    """One yes or no of an answer."""
    return _strict(said.get(name), bool)


def _exit(said: _Exit) -> ExitStatus:
    return ExitStatus(said.code, said.signal, said.oom, said.error or "")


def _strict(said: object, kind: type[T]) -> T:
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError as problem:
        raise _nonsense(problem) from None


def _decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as problem:
        raise _nonsense(problem) from None


def _nonsense(problem: Exception | str) -> LinkError:
    return LinkError(
        f"agentctl answered what its protocol does not allow: {problem}",
        hint="something else may speak for it; reset the session to get a Pod with this release's helper",
        details={"code": "malformed"},
    )
