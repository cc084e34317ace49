"""Numbers what changed, in the order of commits. Used by every part of the store that people look at live.

The counter's row is taken at the very end of a transaction and held until it commits, so whoever reads
revision N sees all below it too, and no transaction waits for it with a row that another one needs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.store import tables
from moorage.store.database import Database, database_now

T = TypeVar("T")

KEPT: Final = 20_000
"""Changes kept, at least. Who asks for one before them reads everything anew."""
PRUNED_EVERY: Final = 500
"""Numbers between two removals of what is older."""

ADDED, MODIFIED, DELETED = "added", "modified", "deleted"
REVISION: Final = "revision"

_columns = tables.changes.c


class Notes:
    """What one transaction changed, in order."""

    def __init__(self) -> None:
        self.changes: list[dict[str, str]] = []

    def note(self, kind: str, row_id: str, owner_id: str, op: str) -> None:
        """``op``: ADDED, MODIFIED or DELETED. ``owner_id`` "": everybody may see it."""
        self.changes.append({"kind": kind, "id": row_id, "owner_id": owner_id, "op": op})


class Ledger:
    """Writes that others are told of."""

    def __init__(self, database: Database):
        self._database = database
        self._listeners: list[Callable[[], None]] = []

    def listen(self, told: Callable[[], None]) -> None:
        """``told`` is called in the event loop after each such write of this process."""
        self._listeners.append(told)

    async def write(self, name: str, work: Callable[[AsyncConnection, Notes], Awaitable[T]]) -> T:
        """As ``Database.write``; what ``work`` noted is numbered in the same transaction."""
        notes = Notes()

        async def numbered(connection: AsyncConnection) -> T:
            notes.changes.clear()  # it is run again when the database ended it for another's sake
            result = await work(connection, notes)
            await _number(connection, notes)
            return result

        result = await self._database.write(name, numbered)
        if notes.changes:
            for told in self._listeners:
                told()
        return result


async def _number(connection: AsyncConnection, notes: Notes) -> None:
    count = len(notes.changes)
    if not count:
        return
    counter = sa.update(tables.counters).where(tables.counters.c.name == REVISION)
    counted = counter.values(value=tables.counters.c.value + count).returning(tables.counters.c.value)
    last: int = (await connection.execute(counted)).scalar_one()
    for revision, change in enumerate(notes.changes, last - count + 1):
        row = {"revision": revision, "at": database_now(), **change}
        await connection.execute(sa.insert(tables.changes).values(row))
    if last // PRUNED_EVERY != (last - count) // PRUNED_EVERY:
        await connection.execute(sa.delete(tables.changes).where(_columns.revision <= last - KEPT))
