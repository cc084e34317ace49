"""The rows of one kind. Implements ``ports.service.Rows``; what else a kind must hold to is in ``uses``.

Decides nothing about what a row says: ``core.service.checks`` did.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.errors import Conflict, MoorageError, NotFound, StoreError
from moorage.core.service.records import Row
from moorage.core.session import change
from moorage.store.database import Database, database_now
from moorage.store.ledger import ADDED, DELETED, MODIFIED, Ledger, Notes
from moorage.store.service.kinds import Kind

T = TypeVar("T")
_log = logging.getLogger(__name__)

Before = Callable[[AsyncConnection, Notes, Row, Row | None], Awaitable[None]]
"""Asked with the stored row and the one that replaces it (None: it is deleted), in the same transaction;
raises Conflict, or takes away what goes with it."""


class SqlRows(Generic[Row]):
    """``before``: see ``Before``."""

    def __init__(
        self, database: Database, ledger: Ledger, kind: Kind[Row], before: Before[Row] | None = None
    ):
        self._database = database
        self._ledger = ledger
        self._kind: Kind[Row] = kind
        self._columns = kind.table.c
        self._before: Before[Row] | None = before

    async def add(self, row: Row) -> Row:
        """Conflict when the id or the name among its siblings is taken; NotFound for a missing parent."""
        return await self.add_with(row, {})

    async def add_with(self, row: Row, more: dict[str, Any]) -> Row:
        """``add``, with columns that no row tells of."""
        kind = self._kind
        values = kind.columns(row) | more

        async def work(connection: AsyncConnection, notes: Notes) -> Row:
            await self._require_parent(connection, row)
            await self._require_free(connection, row, new=True)
            at: float = (await connection.execute(sa.select(database_now()))).scalar_one()
            times = {"created_at": at, "updated_at": at, "version": 1}
            await connection.execute(sa.insert(kind.table).values(values | times))
            notes.note(kind.word, row.id, kind.owner(row), ADDED)
            return self._stamped(row, created_at=at, updated_at=at, version=1)

        return await self._write(f"{kind.word}.add", work, row)

    async def get(self, row_id: str) -> Row:
        """By id, or by name where ``ports.service`` says so. NotFound names the nearest."""
        return await self._database.read(lambda connection: self._get(connection, row_id))

    async def list_all(self, *, parent: str = "", after: str = "", limit: int = 0) -> list[Row]:
        """Oldest first; one that cannot be read is logged and left out. NotFound when ``after`` is gone."""

        async def work(connection: AsyncConnection) -> list[Row]:
            order = (self._columns.created_at, self._columns.id)
            query = sa.select(self._kind.table).order_by(*order)
            if parent:
                query = query.where(self._columns[self._kind.parent] == parent)
            if after:
                last = await self._stored(connection, self._columns.id == after)
                if last is None:
                    raise NotFound(f"the {self._kind.word} {after} is gone", field="after", hint="begin anew")
                query = query.where(sa.tuple_(*order) > sa.tuple_(last.created_at, last.id))
            if limit:
                query = query.limit(limit)
            return self._readable(await connection.execute(query))

        return await self._database.read(work)

    async def replace(self, row: Row) -> Row:
        """Store ``row`` if the stored version is ``row.version``; returned with the next one."""
        kind = self._kind
        values = kind.columns(row)
        del values["id"]

        async def work(connection: AsyncConnection, notes: Notes) -> Row:
            stored, created_at = await self._locked(connection, row.id, row.version)
            if kind.parent and getattr(stored, kind.parent) != getattr(row, kind.parent):
                await self._require_parent(connection, row)
            await self._require_free(connection, row, new=False)
            if self._before is not None:
                await self._before(connection, notes, stored, row)
            times = {"updated_at": database_now(), "version": row.version + 1}
            update = sa.update(kind.table).where(self._columns.id == row.id).values(values | times)
            at = (await connection.execute(update.returning(self._columns.updated_at))).scalar_one()
            if kind.owner(stored) == kind.owner(row):
                notes.note(kind.word, row.id, kind.owner(row), MODIFIED)
            else:  # who could see it before must learn that this is over
                notes.note(kind.word, row.id, kind.owner(stored), DELETED)
                notes.note(kind.word, row.id, kind.owner(row), ADDED)
            return self._stamped(row, created_at=created_at, updated_at=at, version=row.version + 1)

        return await self._write(f"{kind.word}.replace", work, row)

    async def delete(self, row_id: str, version: int = 0) -> None:
        """``version`` 0: whichever. Conflict when it is used, NotFound when it is gone."""

        async def work(connection: AsyncConnection, notes: Notes) -> None:
            stored, _ = await self._locked(connection, row_id, version)
            if self._before is not None:
                await self._before(connection, notes, stored, None)
            await connection.execute(sa.delete(self._kind.table).where(self._columns.id == row_id))
            notes.note(self._kind.word, row_id, self._kind.owner(stored), DELETED)

        await self._ledger.write(f"{self._kind.word}.delete", work)

    def _stamped(self, row: Row, **stamps: object) -> Row:
        """With what the database says of it, as far as this kind has it."""
        fields = self._kind.type.__struct_fields__
        stamped: Row = change(row, **{name: value for name, value in stamps.items() if name in fields})
        return stamped

    async def _write(self, name: str, work: Callable[[AsyncConnection, Notes], Awaitable[T]], row: Row) -> T:
        """Another server may take the name or the parent between our question and the end."""
        try:
            return await self._ledger.write(name, work)
        except sa.exc.IntegrityError as problem:
            raise self._no_parent(row) if _is_foreign(problem) else self._taken(row) from None

    async def _stored(self, connection: AsyncConnection, where: sa.ColumnElement[bool]) -> sa.Row[Any] | None:
        return (await connection.execute(sa.select(self._kind.table).where(where))).first()

    async def _get(self, connection: AsyncConnection, wanted: str) -> Row:
        where = self._columns.id == wanted
        kind = self._kind
        stored = await self._stored(connection, where) if storable(wanted) else None
        if stored is None and kind.found_by_name and storable(wanted):
            stored = await self._named(connection, wanted)
        if stored is None:
            raise await self._unknown(connection, wanted)
        found: Row = kind.row(stored)
        return found

    async def _named(self, connection: AsyncConnection, wanted: str) -> sa.Row[Any] | None:
        kind = self._kind
        if kind.parents is None:
            return await self._stored(connection, self._columns.name == wanted)
        parent, slash, name = wanted.partition("/")
        if not slash:
            return None
        above = sa.select(kind.parents.c.id).where(
            sa.or_(kind.parents.c.id == parent, kind.parents.c.name == parent)
        )
        named = sa.and_(self._columns.name == name, self._columns[kind.parent].in_(above))
        return await self._stored(connection, named)

    async def _locked(self, connection: AsyncConnection, row_id: str, version: int) -> tuple[Row, float]:
        """The stored row and when it was made, kept from others until this transaction ends."""
        query = sa.select(self._kind.table).where(self._columns.id == row_id).with_for_update()
        stored = (await connection.execute(query)).one_or_none() if storable(row_id) else None
        if stored is None:
            raise await self._unknown(connection, row_id)
        if version and stored.version != version:
            raise Conflict(
                f"the {self._kind.word} {row_id} was changed meanwhile: it has version {stored.version}, "
                f"yours was {version}",
                field="version",
                hint="read it again and repeat the change",
                details={"version": stored.version},
            )
        read: Row = self._kind.row(stored)
        return read, stored.created_at

    async def _require_parent(self, connection: AsyncConnection, row: Row) -> None:
        parents = self._kind.parents
        if parents is None:
            return
        query = sa.select(parents.c.id).where(parents.c.id == getattr(row, self._kind.parent))
        if (await connection.execute(query)).first() is None:
            raise self._no_parent(row)

    async def _require_free(self, connection: AsyncConnection, row: Row, *, new: bool) -> None:
        kind = self._kind
        same: sa.ColumnElement[bool] = self._columns.id == row.id if new else sa.false()
        if kind.named:
            name = sa.and_(self._columns.name == getattr(row, "name", ""), self._columns.id != row.id)
            if kind.parent:
                name = sa.and_(name, self._columns[kind.parent] == getattr(row, kind.parent))
            same = sa.or_(same, name)
        if await self._stored(connection, same) is not None:
            raise self._taken(row)

    def _readable(self, found: Any) -> list[Row]:
        rows: list[Row] = []
        for stored in found:
            try:
                rows.append(self._kind.row(stored))
            except StoreError as problem:
                _log.warning("%s", problem.message)
        return rows

    async def _unknown(self, connection: AsyncConnection, wanted: str) -> NotFound:
        column = self._columns.name if self._kind.found_by_name else self._columns.id
        names = (await connection.execute(sa.select(column))).scalars()
        near = difflib.get_close_matches(wanted.rpartition("/")[2], names, n=1)
        hint = f"did you mean {near[0]}?" if near else ""
        word = self._kind.word
        return NotFound(f"there is no {word} {wanted or repr(wanted)}", field=word, hint=hint)

    def _no_parent(self, row: Row) -> MoorageError:
        field = self._kind.parent
        return NotFound(f"there is no {field.removesuffix('_id')} {getattr(row, field)}", field=field)

    def _taken(self, row: Row) -> Conflict:
        name = getattr(row, "name", row.id) if self._kind.named else row.id
        return Conflict(
            f"there is a {self._kind.word} named {name} already",
            field="name" if self._kind.named else "id",
            hint="choose another name, or change that one",
        )


def storable(text: str) -> bool:
    """What no database takes as text is the id of nothing."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _is_foreign(problem: sa.exc.IntegrityError) -> bool:
    state = getattr(problem.orig, "sqlstate", None)
    return state == "23503" if state else "FOREIGN KEY" in str(problem.orig)
