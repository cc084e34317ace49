"""Sessions by executor and task, as their columns tell. Implements ``ports.service.InventoryIndex``."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.errors import StoreError
from moorage.ports.service import InventoryRow
from moorage.store import records
from moorage.store.database import Database
from moorage.store.service.uses import active, of_executor
from moorage.store.tables import sessions

_columns = sessions.c


class SqlInventory:
    """The index over one database's sessions."""

    def __init__(self, database: Database):
        self._database = database

    async def rows(
        self, executor_id: str, *, owner: str = "", task_id: str = "", session_id: str = ""
    ) -> list[InventoryRow]:
        """Neither deleted nor archived, oldest first; filters narrow, "" does not."""
        query = (
            sa.select(sessions)
            .where(active, _columns.executor_id == executor_id)
            .order_by(_columns.created_at, _columns.id)
        )
        filters = ((_columns.owner_id, owner), (_columns.task_id, task_id), (_columns.id, session_id))
        for column, wanted in filters:
            if wanted:
                query = query.where(column == wanted)

        async def work(connection: AsyncConnection) -> list[InventoryRow]:
            return [_told(row) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def active_count(self, executor_id: str) -> int:
        """Of all people's. One that cannot be read counts; where its executor cannot, for each executor."""
        query = sa.select(sa.func.count()).select_from(sessions).where(of_executor(executor_id))

        async def work(connection: AsyncConnection) -> int:
            return (await connection.execute(query)).scalar_one()

        return await self._database.read(work)


def _told(row: records.Row) -> InventoryRow:
    try:
        records.to_session(row)
        readable = True
    except StoreError:
        readable = False
    return InventoryRow(
        session_id=row.id,
        task_id=row.task_id,
        profile_id=row.profile_id,
        owner_id=row.owner_id,
        phase=row.phase,
        created_at=row.created_at,
        readable=readable,
    )
