"""What a row of the service is needed for, and what goes with it. Asked by ``rows`` before it changes one.

Each runs in the transaction of the change: what it raises leaves everything as it was.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.errors import Conflict
from moorage.core.service.records import Executor, Profile, Role, Task, User
from moorage.core.session import Phase
from moorage.store.ledger import ADDED, DELETED, Notes
from moorage.store.service import tables
from moorage.store.sessions import KIND as SESSION
from moorage.store.tables import sessions

_UNKNOWN = ""
"""In a session's columns: its record could not be read when it was to be told whose it is."""

active = sessions.c.phase.not_in((Phase.DELETED.value, Phase.ARCHIVED.value))


def of_executor(executor_id: str) -> sa.ColumnElement[bool]:
    """Sessions that may be this executor's: one of which nobody can tell counts for each."""
    return sa.and_(active, sessions.c.executor_id.in_((executor_id, _UNKNOWN)))


async def executor(connection: AsyncConnection, notes: Notes, old: Executor, new: Executor | None) -> None:
    """With an executor go its profiles."""
    if new is not None:
        return
    await _refuse_used(connection, "executor", old.name, of_executor(old.id))
    await _take_away(connection, notes, "profile", tables.profiles, tables.profiles.c.executor_id == old.id)


async def profile(connection: AsyncConnection, notes: Notes, old: Profile, new: Profile | None) -> None:
    if new is None:
        used = sa.and_(active, sessions.c.profile_id == old.id)
        await _refuse_used(connection, "profile", old.name, used)
    elif new.executor_id != old.executor_id:
        raise Conflict(
            f"the profile {old.name} belongs to another executor",
            field="executor_id",
            hint="make a new profile there",
        )


async def task(connection: AsyncConnection, notes: Notes, old: Task, new: Task | None) -> None:
    """With a task that goes to another person go its sessions."""
    its = sessions.c.task_id == old.id
    if new is None:
        await _refuse_used(connection, "task", old.title, sa.and_(active, its))
    elif new.owner_id != old.owner_id:
        moved = sa.update(sessions).where(its).values(owner_id=new.owner_id).returning(sessions.c.id)
        for session_id in (await connection.execute(moved)).scalars().all():
            notes.note(SESSION, session_id, old.owner_id, DELETED)
            notes.note(SESSION, session_id, new.owner_id, ADDED)


async def user(connection: AsyncConnection, notes: Notes, old: User, new: User | None) -> None:
    """With a person go tokens and sign-ins; who is disabled is signed out. Tasks keep a person on record."""
    if _administers(old) and not (new is not None and _administers(new)):
        await _refuse_last(connection, old)
    if new is not None:
        if new.disabled:
            await sign_out(connection, old.id)
        return
    owned = sa.select(sa.func.count()).where(tables.tasks.c.owner_id == old.id)
    count: int = (await connection.execute(owned)).scalar_one()
    if count:
        raise Conflict(
            f"{old.name} owns {count} tasks",
            field="user",
            hint="give them to somebody else or delete them; or disable this person",
            details={"task_count": count},
        )
    await sign_out(connection, old.id)
    await _take_away(
        connection, notes, "token", tables.tokens, tables.tokens.c.user_id == old.id, owner_id=old.id
    )
    await connection.execute(sa.delete(tables.answers).where(tables.answers.c.user_id == old.id))


async def sign_out(connection: AsyncConnection, user_id: str) -> None:
    """Everywhere, and no link that was offered works any more."""
    for table in (tables.sign_ins, tables.links):
        await connection.execute(sa.delete(table).where(table.c.user_id == user_id))


def _administers(row: User) -> bool:
    return row.role is Role.ADMINISTRATOR and not row.disabled


async def _refuse_last(connection: AsyncConnection, old: User) -> None:
    columns = tables.users.c
    query = (
        sa.select(columns.id)
        .where(columns.role == Role.ADMINISTRATOR.value, sa.not_(columns.disabled))
        .order_by(columns.id)
        .with_for_update()  # two who take the right from each other come one after the other
    )
    if set((await connection.execute(query)).scalars()) <= {old.id}:
        raise Conflict(
            f"{old.name} is the last administrator", field="role", hint="make another person one first"
        )


async def _refuse_used(
    connection: AsyncConnection, word: str, name: str, used: sa.ColumnElement[bool]
) -> None:
    query = sa.select(sa.func.count()).select_from(sessions).where(used)
    count: int = (await connection.execute(query)).scalar_one()
    if count:
        raise Conflict(
            f"the {word} {name} has {count} sessions that are neither archived nor deleted",
            field=word,
            hint="archive or delete them first",
            details={"active_session_count": count},
        )


async def _take_away(
    connection: AsyncConnection,
    notes: Notes,
    word: str,
    table: sa.Table,
    where: sa.ColumnElement[bool],
    owner_id: str = "",
) -> None:
    gone: Any = sa.delete(table).where(where).returning(table.c.id)
    for row_id in (await connection.execute(gone)).scalars().all():
        notes.note(word, row_id, owner_id, DELETED)
