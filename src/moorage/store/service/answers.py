"""Answers that are given again instead of acting twice. Implements ``ports.service.Idempotency``.

A body is kept encrypted: the answer to the making of a token shows it for the only time.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.ports.service import Remembered
from moorage.store.database import Database, database_now, insert_or
from moorage.store.secrets import SqlSecrets
from moorage.store.service import tables

KEPT: Final = 24 * 3600.0

_columns = tables.answers.c


class SqlAnswers:
    """Remembered answers of one database."""

    def __init__(self, database: Database, secrets: SqlSecrets):
        self._database = database
        self._secrets = secrets

    async def claim(self, user_id: str, key: str, request: bytes) -> Remembered | None:
        """None: it is ours to act; of two that ask at once, one is told so."""
        row = {"user_id": user_id, "key": key, "request": request, "status": 0, "at": database_now()}
        mine = sa.and_(_columns.user_id == user_id, _columns.key == key)

        async def work(connection: AsyncConnection) -> sa.Row[Any] | None:
            await connection.execute(sa.delete(tables.answers).where(_columns.at < database_now() - KEPT))
            insert = insert_or(self._database.dialect, tables.answers, row, replace=False)
            if (await connection.execute(insert.returning(_columns.key))).first() is not None:
                return None
            return (await connection.execute(sa.select(tables.answers).where(mine))).one()

        found = await self._database.write("answers.claim", work)
        if found is None:
            return None
        body = self._secrets.opened(_name(user_id, key), found.sealed) if found.sealed else b""
        return Remembered(found.request, found.status, body)

    async def answer(self, user_id: str, key: str, status: int, body: bytes) -> None:
        """``status`` 0: forget it, nothing was done. IntegrityError when our key has gone."""
        mine = sa.and_(_columns.user_id == user_id, _columns.key == key)
        statement: Any = sa.delete(tables.answers).where(mine)
        if status:
            sealed = self._secrets.sealed(_name(user_id, key), body)
            statement = sa.update(tables.answers).where(mine).values(status=status, sealed=sealed)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(statement)

        await self._database.write("answers.answer", work)


def _name(user_id: str, key: str) -> str:
    return f"answer/{user_id}/{key}"
