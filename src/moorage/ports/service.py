"""What the service keeps beside sessions. Implemented by ``store`` on SQLite and PostgreSQL.

Every method is one transaction. A change of a row and the ``Change`` that tells of it are one transaction
too, and the revisions of changes are in the order of their commits, also when several servers write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from moorage.core.service.records import (
    AuditRow,
    Change,
    Executor,
    Policy,
    Profile,
    Role,
    Row,
    SignIn,
    Task,
    Token,
    User,
)


class Rows(Protocol[Row]):
    """The rows of one kind."""

    async def add(self, row: Row) -> Row:
        """Conflict when the id, or the name among its siblings, is taken; NotFound for a parent (executor of
        a profile, owner of a task) that is not there. Returned with the database's times."""

    async def get(self, row_id: str) -> Row:
        """By id; executors, users and profiles (as EXECUTOR/PROFILE) also by name. NotFound names the
        nearest."""

    async def list_all(self, *, parent: str = "", after: str = "", limit: int = 0) -> list[Row]:
        """Oldest first. ``parent``: executor of profiles, owner of tasks, user of tokens; ``after``: the id
        after which a page begins; ``limit`` 0: all."""

    async def replace(self, row: Row) -> Row:
        """Store ``row`` if the stored version is ``row.version``; returned with the next one. Conflict when
        it was changed meanwhile (``details['version']``), NotFound when it is gone."""

    async def delete(self, row_id: str, version: int = 0) -> None:
        """``version`` 0: whichever. Conflict when it is used: an executor or profile with sessions that are
        neither deleted nor archived (``details['active_session_count']``), a task with such sessions, the
        last administrator."""


@dataclass(frozen=True)
class Page:
    """Changes after a revision, oldest first; ``revision``: the newest there is. ``too_old``: what came after
    the asked revision is no longer kept, so everything has to be read anew."""

    changes: Sequence[Change]
    revision: int
    too_old: bool = False


class Changes(Protocol):
    """What was committed, in order."""

    async def after(self, revision: int, limit: int = 500) -> Page: ...

    async def wait(self, revision: int, seconds: float) -> bool:
        """Whether there is a change after ``revision``; at the latest after ``seconds``."""


class People(Protocol):
    """How people and programs show who they are. Nothing here returns a password, a token or its hash."""

    async def set_password(self, user_id: str, password_hash: str) -> None:
        """An argon2 hash; "" takes it away. Ends every sign-in of that person."""

    async def password_hash(self, name: str) -> tuple[User, str] | None:
        """None when nobody enabled has this name; "" when there is no password."""

    async def by_subject(self, issuer: str, subject: str) -> User | None:
        """Who signed in through that provider before."""

    async def add_token(self, token: Token, digest: bytes) -> Token:
        """``digest``: SHA-256 of the value."""

    async def by_token(self, digest: bytes) -> tuple[User, Token] | None:
        """None for one that is not there, is over, or whose person is disabled. Notes its use."""

    async def sign_in(self, row: SignIn, digest: bytes) -> None: ...

    async def by_sign_in(self, digest: bytes) -> tuple[User, SignIn] | None:
        """As ``by_token``."""

    async def sign_out(self, digest: bytes) -> None: ...

    async def offer_link(self, user_id: str, digest: bytes, seconds: float) -> None:
        """A link that signs one browser in, once, within ``seconds``."""

    async def take_link(self, digest: bytes) -> User | None:
        """The person, the first time only."""

    async def failures(self, key: str, seconds: float) -> int:
        """How many sign-ins failed under ``key`` (a name, an address) in the last ``seconds``."""

    async def note_failure(self, key: str) -> None: ...

    async def count(self, role: Role | None = None) -> int:
        """Enabled people."""


class Audit(Protocol):
    """Who did what. Rows are only ever added and, once, completed."""

    async def begin(self, actor: str, via: str, action: str, target: str) -> int:
        """A row with outcome ``begun``; its id."""

    async def complete(self, row_id: int, outcome: str, status: int, detail: str = "") -> None: ...

    async def rows(
        self, *, before: int = 0, limit: int = 100, actor: str = "", target: str = ""
    ) -> list[AuditRow]:
        """Newest first. ``before``: an id, 0 for the newest."""


@dataclass(frozen=True)
class Remembered:
    """The answer to a request with an idempotency key. ``status`` 0: it is still being worked on."""

    request: bytes
    status: int
    body: bytes


class Idempotency(Protocol):
    """Answers that are given again instead of acting twice. Kept for a day."""

    async def claim(self, user_id: str, key: str, request: bytes) -> Remembered | None:
        """None: it is ours to act. ``request``: SHA-256 of method, path and body."""

    async def answer(self, user_id: str, key: str, status: int, body: bytes) -> None:
        """``status`` 0: forget it, nothing was done."""


@dataclass(frozen=True)
class InventoryRow:
    """A session of an executor as its record's columns tell, whether or not the record can be read.
    ``owner_id``: of its task, "" for an ad-hoc session of the command line."""

    session_id: str
    task_id: str
    profile_id: str
    owner_id: str
    phase: str
    created_at: float
    readable: bool


class InventoryIndex(Protocol):
    """Sessions by executor and task, without reading their records one by one."""

    async def rows(
        self, executor_id: str, *, owner: str = "", task_id: str = "", session_id: str = ""
    ) -> list[InventoryRow]:
        """Neither deleted nor archived, oldest first; filters narrow, "" does not."""

    async def active_count(self, executor_id: str) -> int:
        """Of all people's, records that cannot be read included."""


class ServiceStore(Protocol):
    """The parts of one database, beside those of ``ports.store.Store``."""

    executors: Rows[Executor]
    profiles: Rows[Profile]
    policies: Rows[Policy]
    tasks: Rows[Task]
    users: Rows[User]
    tokens: Rows[Token]
    people: People
    audit: Audit
    changes: Changes
    idempotency: Idempotency
    inventory: InventoryIndex
