"""What must survive a crash. Implemented by ``store`` over SQLAlchemy (SQLite now, PostgreSQL later).

Writes to a session's record and transcript are conditional on a lease: a stale owner's write raises
Conflict and changes nothing. Intents are written without one. Every method is one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from moorage.core.session import Intent, Session
from moorage.ports.link import Gap, Output

Allow: TypeAlias = Callable[[Sequence[Session]], None]
"""Raises what keeps a session from coming on record beside those there are, neither deleted nor archived."""

RECORD_GONE = "record_gone"
"""``details["state"]`` of a StoreError: the database was removed; no command finds its sessions any more."""


@dataclass(frozen=True)
class Lease:
    """The right to act for one session. ``fence`` only ever grows. ``took_over``: from an owner that did
    not let go of it: it may still wake up and go on, or what it has sent may still arrive."""

    session_id: str
    fence: int
    owner: str
    took_over: bool = False


@dataclass(frozen=True)
class Owner:
    """Who would hold a lease: host name, pid, process start time (a pid alone may be reused)."""

    host: str
    pid: int
    started: str

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}:{self.started}"


@dataclass(frozen=True)
class SessionEvent:
    """One line of a session's history. ``kind`` is CamelCase, e.g. ``PodCreated``; ``object`` is what it
    happened to, as ``pod/NAME``, and is not stored: "" is the session itself."""

    at: float
    kind: str
    message: str
    object: str = ""


@dataclass(frozen=True)
class Unreadable:
    """A session whose record this code cannot read: it was damaged, or a newer Moorage wrote it. ``session``:
    what can still be read of it, the rest empty; to be shown, never to be acted upon. ``why``: for people."""

    session: Session
    why: str


class Sessions(Protocol):
    """Session records."""

    async def add(
        self, session: Session, secrets: Mapping[str, bytes] | None = None, allow: Allow | None = None
    ) -> None:
        """Insert the record and the secrets it refers to, both or neither; Conflict when the id or the name
        of a session not yet deleted exists. ``allow`` is asked in the same transaction."""

    async def get(self, name_or_id: str) -> Session:
        """By id or by name (deleted ones only by id); NotFound names the nearest existing name."""

    async def list_all(self, *, include_archived: bool = False) -> list[Session]:
        """Oldest first, without deleted ones and without those whose record cannot be read (logged)."""

    async def unreadable(self) -> list[Unreadable]:
        """Those, not deleted, whose record cannot be read. Oldest first."""

    async def discard(self, session_id: str, lease: Lease) -> None:
        """Drop the record of a session, unread, with transcript and history; its name is free again. Conflict
        when it can be read: then nobody needs this."""

    async def ids(self) -> set[str]:
        """Of all sessions not deleted, also of those whose record cannot be read."""

    async def save(self, session: Session, lease: Lease) -> Session:
        """Replace the record (all but ``intent``); returns it with the intent now stored."""

    async def set_intent(self, session_id: str, intent: Intent) -> Intent:
        """Store a wish; ``number`` is assigned by the store."""

    async def add_event(self, session_id: str, event: SessionEvent) -> None: ...

    async def events(self, session_id: str) -> list[SessionEvent]: ...

    async def purge(self, session_id: str, lease: Lease) -> None:
        """Delete transcript and history, keep the row as ``deleted`` with its unsettled nonces."""

    async def tombstones(self) -> list[Session]:
        """Sessions over, archived or deleted, whose nonces are not all settled: a create may still be carried
        out late."""


class Transcripts(Protocol):
    """Output of agents, one byte sequence per session."""

    async def append(self, session_id: str, item: Output | Gap, lease: Lease) -> int:
        """Store bytes (durably, before returning); returns the new end. Bytes below the end are ignored
        (a repeat), bytes above it leave a gap on record. The oldest go beyond the session's limit."""

    async def read(self, session_id: str, offset: int, limit: int = 1 << 20) -> list[Output | Gap]:
        """From ``offset``; [] at the end. -1: from the first byte, for who was told of no loss yet either."""

    async def end(self, session_id: str) -> int: ...

    async def delivered(self, session_id: str) -> int:
        """The offset after the last byte that a person following the agent was given."""

    async def mark_delivered(self, session_id: str, offset: int) -> None:
        """Raise it to ``offset``, never lower it; anybody may, without a lease."""


class Leases(Protocol):
    """One owner per session, judged by database time."""

    async def acquire(self, session_id: str, owner: Owner, *, ttl: float = 15.0) -> Lease | None:
        """None while a lease lives, be it of another task of this process. A dead owner on this very host
        (pid gone, or reused) is replaced at once; any other once its lease ran out."""

    async def renew(self, lease: Lease, *, ttl: float = 15.0) -> bool:
        """False when it was lost."""

    async def release(self, lease: Lease) -> None: ...

    async def holder(self, session_id: str) -> str:
        """Who holds it, for messages; "" when nobody does."""


class Secrets(Protocol):
    """Encrypted values by reference. The key is a 0600 file or comes from the environment."""

    async def put(self, ref: str, value: bytes) -> None: ...

    async def get(self, ref: str) -> bytes:
        """NotFound when there is none; IntegrityError when it cannot be decrypted with our key."""

    async def delete(self, ref: str) -> None:
        """Repeatable."""

    async def names(self, prefix: str) -> list[str]:
        """References that begin so, in order. Needs no key."""


class Store(Protocol):
    """The parts of one database."""

    sessions: Sessions
    transcripts: Transcripts
    leases: Leases
    secrets: Secrets

    async def install_id(self) -> str:
        """This installation's id: 12 characters, made once."""

    async def get_setting(self, key: str) -> str: ...

    async def put_setting(self, key: str, value: str) -> None: ...

    async def close(self) -> None: ...
