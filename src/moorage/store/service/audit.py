"""Who did what. Implements ``ports.service.Audit``: rows are added and, once, completed."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.service.records import AuditRow
from moorage.store.database import Database, database_now
from moorage.store.service import tables

TEXT_LIMIT: Final = 2000
"""Characters of each text of a row: what is longer is cut, an audit row must never fail for its length."""

_columns = tables.audit.c


class SqlAudit:
    """Audit rows of one database."""

    def __init__(self, database: Database):
        self._database = database

    async def begin(self, actor: str, via: str, action: str, target: str) -> int:
        """A row with outcome ``begun``; its id."""
        row = {"actor": actor, "via": via, "action": action, "target": target}
        values: dict[str, Any] = {name: _kept(text) for name, text in row.items()}
        values |= {"at": database_now(), "outcome": "begun", "status": 0, "detail": ""}

        async def work(connection: AsyncConnection) -> int:
            insert = sa.insert(tables.audit).values(values).returning(_columns.id)
            number: int = (await connection.execute(insert)).scalar_one()
            return number

        return await self._database.write("audit.begin", work)

    async def complete(self, row_id: int, outcome: str, status: int, detail: str = "") -> None:
        """Once: a row that is complete stays as it is."""
        values = {"outcome": _kept(outcome), "status": status, "detail": _kept(detail)}

        async def work(connection: AsyncConnection) -> None:
            open_row = sa.and_(_columns.id == row_id, _columns.outcome == "begun")
            await connection.execute(sa.update(tables.audit).where(open_row).values(values))

        await self._database.write("audit.complete", work)

    async def rows(
        self, *, before: int = 0, limit: int = 100, actor: str = "", target: str = ""
    ) -> list[AuditRow]:
        """Newest first."""
        query = sa.select(tables.audit).order_by(_columns.id.desc()).limit(limit)
        if before:
            query = query.where(_columns.id < before)
        for column, wanted in ((_columns.actor, actor), (_columns.target, target)):
            if wanted:
                query = query.where(column == _kept(wanted))

        async def work(connection: AsyncConnection) -> list[AuditRow]:
            return [AuditRow(*row) for row in await connection.execute(query)]

        return await self._database.read(work)


def _kept(text: str) -> str:
    """As every database takes it."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()[:TEXT_LIMIT]
