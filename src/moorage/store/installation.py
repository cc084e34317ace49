"""What belongs to the installation as a whole: its id and single values. Called by ``SqlStore``."""

from __future__ import annotations

import secrets
import string

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.store import tables
from moorage.store.database import Database, insert_or

_INSTALL_ID = "install-id"


class Installation:
    """Single values by key."""

    def __init__(self, database: Database):
        self._database = database

    async def install_id(self) -> str:
        """This installation's id, made at the first call: 12 of ``[a-z0-9]``, the first a letter."""
        known = await self.get(_INSTALL_ID)
        if known:
            return known
        rest = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(11))
        fresh = {"key": _INSTALL_ID, "value": secrets.choice(string.ascii_lowercase) + rest}

        async def work(connection: AsyncConnection) -> str:
            # Another process may be first: whoever inserts, all read the same row.
            await connection.execute(insert_or(self._database.dialect, tables.settings, fresh, replace=False))
            return await _value(connection, _INSTALL_ID)

        return await self._database.write("installation.install_id", work)

    async def get(self, key: str) -> str:
        """The value; an empty string when it was never put."""
        return await self._database.read(lambda connection: _value(connection, key))

    async def put(self, key: str, value: str) -> None:
        """Set or replace."""
        row = {"key": key, "value": value}

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert_or(self._database.dialect, tables.settings, row, replace=True))

        await self._database.write("installation.put", work)


async def _value(connection: AsyncConnection, key: str) -> str:
    query = sa.select(tables.settings.c.value).where(tables.settings.c.key == key)
    return (await connection.execute(query)).scalar_one_or_none() or ""
