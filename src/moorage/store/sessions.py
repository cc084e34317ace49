"""Session records, intents and history. Implements ``ports.store.Sessions``.

Decides nothing about sessions: it keeps what it is given, under the lease's condition.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.command import is_utf8
from moorage.core.errors import Conflict, SessionNotFound, StoreError
from moorage.core.session import Intent, Phase, Session, change
from moorage.ports.store import Allow, Lease, SessionEvent, Unreadable
from moorage.store import records, tables
from moorage.store.database import Database, database_now
from moorage.store.leases import require
from moorage.store.ledger import ADDED, DELETED, MODIFIED, Ledger, Notes
from moorage.store.secrets import SqlSecrets

T = TypeVar("T")
_log = logging.getLogger(__name__)

KIND = "session"
"""Of the changes told of here."""

_columns = tables.sessions.c
# Named here and not taken from store.service: a command that drives one session does not load that.
_tasks = sa.table("tasks", sa.column("id", sa.Text), sa.column("owner_id", sa.Text))
_live = _columns.phase != Phase.DELETED.value
_not_over = sa.and_(_live, _columns.phase != Phase.ARCHIVED.value)


class SqlSessions:
    """Sessions as rows."""

    def __init__(self, database: Database, ledger: Ledger, secrets: SqlSecrets):
        self._database = database
        self._ledger = ledger
        self._secrets = secrets

    async def add(
        self, session: Session, secrets: Mapping[str, bytes] | None = None, allow: Allow | None = None
    ) -> None:
        """Insert, with a lease that nobody holds, an empty transcript and ``secrets`` by reference. Conflict
        when the id or the name of a session not yet deleted exists; IntegrityError as ``Secrets.put``. What
        ``allow`` raises: on SQLite no other ``add`` comes between its question and the insert."""
        row = records.to_row(session) | records.intent_columns(session.intent)
        sealed = [self._secrets.statement(ref, value) for ref, value in (secrets or {}).items()]

        async def work(connection: AsyncConnection, notes: Notes) -> None:
            same = sa.or_(_columns.id.in_((session.id, session.name)), _columns.name == session.id)
            if await _exists(connection, same):
                raise _taken(session)
            if allow is not None:
                allow(await _selected(connection, _not_over))
            owner = await _owner_of(connection, session.identity.task_id)
            await connection.execute(sa.insert(tables.sessions).values(row | {"owner_id": owner}))
            lease = {"fence": 0, "owner": "", "host": "", "pid": 0, "started": "", "expires_at": 0.0}
            await connection.execute(sa.insert(tables.leases).values(session_id=session.id, **lease))
            empty = {"first": 0, "end_offset": 0, "held": 0, "next_seq": 0, "delivered": 0}
            await connection.execute(sa.insert(tables.transcripts).values(session_id=session.id, **empty))
            for statement in sealed:
                await connection.execute(statement)
            notes.note(KIND, session.id, owner, ADDED)

        await self._write_named("sessions.add", work, session)

    async def get(self, name_or_id: str) -> Session:
        """By id or by name (deleted ones only by id); NotFound names the nearest existing name."""

        async def work(connection: AsyncConnection) -> Session:
            by_name = sa.and_(_columns.name == name_or_id, _live)
            query = (
                sa.select(tables.sessions)
                .where(sa.or_(_columns.id == name_or_id, by_name))
                .order_by((_columns.id == name_or_id).desc())
            )
            row = (await connection.execute(query)).first() if _storable(name_or_id) else None
            if row is None:
                raise await _unknown(connection, name_or_id)
            try:
                return records.to_session(row)
            except StoreError:
                if row.phase != Phase.DELETED.value:
                    raise
                raise await _unknown(connection, name_or_id) from None  # it was discarded unread

        return await self._database.read(work)

    async def list_all(self, *, include_archived: bool = False) -> list[Session]:
        """Oldest first; never deleted ones. One whose record cannot be read is logged and left out, so that
        it does not take the others with it; ``ids`` has it."""
        return await self._select(_live if include_archived else _not_over)

    async def unreadable(self) -> list[Unreadable]:
        """Those, not deleted, whose record cannot be read. Oldest first."""

        async def work(connection: AsyncConnection) -> list[Unreadable]:
            query = sa.select(tables.sessions).where(_live).order_by(_columns.created_at, _columns.id)
            read = [(row, _read(row)) for row in await connection.execute(query)]
            return [
                Unreadable(records.rescued(row), problem.message)
                for row, problem in read
                if isinstance(problem, StoreError)
            ]

        return await self._database.read(work)

    async def discard(self, session_id: str, lease: Lease) -> None:
        """Drop the record of a session, unread, with transcript and history; its name is free again. Its
        secrets are the caller's to delete, before this. Conflict when it can be read."""

        async def work(connection: AsyncConnection, notes: Notes) -> None:
            await require(connection, session_id, lease)
            query = sa.select(tables.sessions).where(_columns.id == session_id)
            row = (await connection.execute(query)).one()
            if isinstance(_read(row), Session):
                raise Conflict(f"the record of session {row.name} can be read", field=session_id)
            gone = {"phase": Phase.DELETED.value, "unsettled": 0, "record": "{}"}
            await connection.execute(sa.update(tables.sessions).where(_columns.id == session_id).values(gone))
            await _forget_history(connection, session_id)
            notes.note(KIND, session_id, row.owner_id, DELETED)

        await self._ledger.write("sessions.discard", work)

    async def ids(self) -> set[str]:
        """Of all sessions not deleted, also of those whose record cannot be read."""

        async def work(connection: AsyncConnection) -> set[str]:
            return set((await connection.execute(sa.select(_columns.id).where(_live))).scalars())

        return await self._database.read(work)

    async def tombstones(self) -> list[Session]:
        """Sessions over, archived or deleted, whose nonces are not all settled: a create may still be carried
        out late."""
        over = (Phase.ARCHIVED.value, Phase.DELETED.value)
        return await self._select(sa.and_(_columns.phase.in_(over), _columns.unsettled > 0))

    async def save(self, session: Session, lease: Lease) -> Session:
        """Replace the record (all but ``intent``); returns it with the intent now stored. Conflict when
        the lease is over, the name is taken, or a deleted session would come back."""

        async def work(connection: AsyncConnection, notes: Notes) -> Session:
            await require(connection, session.id, lease)
            shown = sa.select(_columns.name, _columns.state, _columns.record, _columns.owner_id)
            before = (await connection.execute(shown.where(_columns.id == session.id))).one()
            row = records.to_row(session)
            statement = sa.update(tables.sessions).where(_columns.id == session.id)
            if session.state.phase is not Phase.DELETED:
                statement = statement.where(_live)
            done = await connection.execute(statement.values(row).returning(_columns.intent))
            intent = done.scalar_one_or_none()
            if intent is None:
                raise Conflict(f"session {session.id} is deleted and stays so", field=session.id)
            if not records.looks_the_same(before, row):
                notes.note(KIND, session.id, before.owner_id, MODIFIED)
            saved: Session = change(session, intent=records.to_intent(intent))
            return saved

        return await self._write_named("sessions.save", work, session)

    async def set_intent(self, session_id: str, intent: Intent) -> Intent:
        """Store a wish; ``number`` is one more than the last, whatever it was given. NotFound when there
        is no such session, or it is deleted."""

        async def work(connection: AsyncConnection, notes: Notes) -> Intent:
            query = sa.select(_columns.intent_number, _columns.owner_id).where(
                _columns.id == session_id, _live
            )
            row = (await connection.execute(query.with_for_update())).one_or_none()
            if row is None:
                raise await _unknown(connection, session_id)
            numbered: Intent = change(intent, number=row.intent_number + 1)
            await connection.execute(
                sa.update(tables.sessions)
                .where(_columns.id == session_id)
                .values(records.intent_columns(numbered))
            )
            notes.note(KIND, session_id, row.owner_id, MODIFIED)
            return numbered

        return await self._ledger.write("sessions.set_intent", work)

    async def add_event(self, session_id: str, event: SessionEvent) -> None:
        """Append to the history. NotFound when there is no such session."""
        message = event.message.replace("\0", "\ufffd").encode(errors="replace").decode()
        row = {"session_id": session_id, "at": event.at, "kind": event.kind, "message": message}

        async def work(connection: AsyncConnection) -> None:
            if not await _exists(connection, _columns.id == session_id):
                raise await _unknown(connection, session_id)
            await connection.execute(sa.insert(tables.events).values(row))

        await self._database.write("sessions.add_event", work)

    async def events(self, session_id: str) -> list[SessionEvent]:
        """In the order they were added; [] for a session without any."""

        async def work(connection: AsyncConnection) -> list[SessionEvent]:
            columns = tables.events.c
            query = (
                sa.select(columns.at, columns.kind, columns.message)
                .where(columns.session_id == session_id)
                .order_by(columns.id)
            )
            return [SessionEvent(*row) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def purge(self, session_id: str, lease: Lease) -> None:
        """Delete transcript and history, keep the row as ``deleted`` with its unsettled nonces.
        Repeatable. Its secrets are the caller's to delete, before this."""

        async def work(connection: AsyncConnection, notes: Notes) -> None:
            await require(connection, session_id, lease)
            query = sa.select(tables.sessions, database_now().label("now")).where(_columns.id == session_id)
            row = (await connection.execute(query)).one()
            if row.phase != Phase.DELETED.value:
                gone = records.tombstone(records.to_session(row), row.now)
                update = sa.update(tables.sessions).where(_columns.id == session_id)
                await connection.execute(update.values(records.to_row(gone)))
                notes.note(KIND, session_id, row.owner_id, DELETED)
            await _forget_history(connection, session_id)

        await self._ledger.write("sessions.purge", work)

    async def _select(self, wanted: sa.ColumnElement[bool]) -> list[Session]:
        return await self._database.read(lambda connection: _selected(connection, wanted))

    async def _write_named(
        self, name: str, work: Callable[[AsyncConnection, Notes], Awaitable[T]], session: Session
    ) -> T:
        """A write that may break the uniqueness of names."""
        try:
            return await self._ledger.write(name, work)
        except sa.exc.IntegrityError:
            raise _taken(session) from None


async def _owner_of(connection: AsyncConnection, task_id: str) -> str:
    """Of a task; "" for one that is in no table, as the command line's own are."""
    query = sa.select(_tasks.c.owner_id).where(_tasks.c.id == task_id)
    return (await connection.execute(query)).scalar_one_or_none() or ""


async def _forget_history(connection: AsyncConnection, session_id: str) -> None:
    for table in (tables.chunks, tables.events):
        await connection.execute(sa.delete(table).where(table.c.session_id == session_id))
    head = sa.update(tables.transcripts).where(tables.transcripts.c.session_id == session_id)
    await connection.execute(head.values(first=0, end_offset=0, held=0, delivered=0))


def _read(row: records.Row) -> Session | StoreError:
    try:
        return records.to_session(row)
    except StoreError as problem:
        return problem


def _readable(rows: Iterable[records.Row]) -> list[Session]:
    sessions = []
    for read in map(_read, rows):
        if isinstance(read, StoreError):
            _log.warning("%s", read.message)
        else:
            sessions.append(read)
    return sessions


async def _selected(connection: AsyncConnection, wanted: sa.ColumnElement[bool]) -> list[Session]:
    query = sa.select(tables.sessions).where(wanted).order_by(_columns.created_at, _columns.id)
    return _readable(await connection.execute(query))


async def _exists(connection: AsyncConnection, condition: sa.ColumnElement[bool]) -> bool:
    return (await connection.execute(sa.select(_columns.id).where(condition).limit(1))).first() is not None


async def _unknown(connection: AsyncConnection, wanted: str) -> SessionNotFound:
    names = (await connection.execute(sa.select(_columns.name).where(_live))).scalars()
    near = difflib.get_close_matches(wanted, names, n=1)
    hint = f"did you mean {near[0]}?" if near else "moorage ls -a shows all sessions"
    return SessionNotFound(f"there is no session {wanted or repr(wanted)}", field=wanted, hint=hint)


def _storable(name: str) -> bool:
    """What no database takes as text is the name of no session: bytes that are not UTF-8, or a NUL."""
    return is_utf8(name) and "\0" not in name


def _taken(session: Session) -> Conflict:
    return Conflict(
        f"there is a session named {session.name} already",
        field=session.name,
        hint=f"choose another --name, look at that one with: moorage describe {session.name}; "
        f"or remove it: moorage rm {session.name}",
    )
