"""Bring a database to the schema of this code. Called by ``open_store`` only.

Guarantees: all steps are one transaction, so a crash leaves the old schema or the new one; processes
that open at once run them once. A database newer than the code is refused untouched.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.errors import StoreError
from moorage.store.database import Database

REVISIONS = ("0001", "0002")
"""Every schema version, oldest first. Stands here so that an up-to-date database opens without loading
Alembic; a test holds it equal to the files in ``migrations/versions``."""

_ALEMBIC: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""Alembic keeps what it works on in its modules: one upgrade at a time in a process, of any database."""

POSTGRESQL = 15
"""The oldest major version that is tested."""

_LOCK_NUMBER = 0x6D6F6F72  # any constant that only Moorage takes as a PostgreSQL advisory lock


async def migrate(database: Database) -> None:
    """Upgrade where needed. Raises StoreError when the database, or its server, is not one for this code."""
    if database.dialect == "postgresql":
        await database.read(_require_server)
    if await database.read(_pending):
        await database.write("open.migrate", _upgrade)


async def _require_server(connection: AsyncConnection) -> None:
    found = int((await connection.execute(sa.text("SHOW server_version_num"))).scalar_one())
    if found < POSTGRESQL * 10_000:
        raise StoreError(
            f"this is PostgreSQL {found // 10_000}; {POSTGRESQL} or newer is needed",
            hint="name another server with MOORAGE_DATABASE_URL",
        )


async def _pending(connection: AsyncConnection) -> bool:
    """Whether steps are missing."""
    stamped = await connection.run_sync(_stamp)
    if stamped is not None and stamped not in REVISIONS:
        raise StoreError(
            f"a newer Moorage wrote the database: it has schema {stamped}, we know up to {REVISIONS[-1]}",
            hint="upgrade moorage, or choose another folder with MOORAGE_DATA_DIR",
        )
    return stamped != REVISIONS[-1]


def _stamp(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return None if found is None else str(found)


async def _upgrade(connection: AsyncConnection) -> None:
    if connection.dialect.name == "postgresql":  # SQLite's write transaction is a lock already
        await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_NUMBER)))
    async with _ALEMBIC.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        if await _pending(connection):
            await connection.run_sync(_run_alembic)


def _run_alembic(connection: sa.Connection) -> None:
    from alembic import command  # takes longer to import than an up-to-date database to open
    from alembic.config import Config

    config = Config()
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
