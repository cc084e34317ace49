"""Open the store of a data folder. ``main`` calls this; the result is passed on as ``ports.store.Store``."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from moorage.core.errors import UsageError
from moorage.core.session import OUTPUT_LIMIT
from moorage.ports import store as ports
from moorage.store.database import Database, OnWrite, connect
from moorage.store.folder import make_folder, opening, prepare_sqlite
from moorage.store.glance import DATABASE_NAME
from moorage.store.installation import Installation
from moorage.store.keys import FILE_NAME, SecretKey, discard_unfinished, make_key, read_key
from moorage.store.leases import SqlLeases
from moorage.store.ledger import Ledger
from moorage.store.migrate import migrate
from moorage.store.secrets import SqlSecrets, any_secret
from moorage.store.sessions import SqlSessions
from moorage.store.transcripts import SqlTranscripts

if TYPE_CHECKING:
    from moorage.ports.service import ServiceStore
    from moorage.store.service.parts import SqlService


class SqlStore:
    """Implements ``ports.store.Store``; ``service`` is loaded when it is asked for."""

    def __init__(self, database: Database, key: SecretKey | None, output_limit: int):
        self._database = database
        self._installation = Installation(database)
        self._ledger = Ledger(database)
        self._service: SqlService | None = None
        secrets = SqlSecrets(database, key)
        self._sealing = secrets
        self.sessions: ports.Sessions = SqlSessions(database, self._ledger, secrets)
        self.transcripts: ports.Transcripts = SqlTranscripts(database, output_limit)
        self.leases: ports.Leases = SqlLeases(database)
        self.secrets: ports.Secrets = secrets

    @cached_property
    def service(self) -> ServiceStore:
        """What the service keeps beside sessions."""
        from moorage.store.service.parts import SqlService

        self._service = SqlService(self._database, self._ledger, self._sealing)
        return self._service

    async def back_up(self, path: Path) -> int:
        """See ``store.backup``."""
        from moorage.store import backup

        return await backup.back_up(self._database, path)

    async def put_back(self, path: Path) -> int:
        """See ``store.backup``."""
        from moorage.store import backup

        return await backup.put_back(self._database, path)

    async def install_id(self) -> str:
        """This installation's id: 12 characters, made once."""
        return await self._installation.install_id()

    async def get_setting(self, key: str) -> str:
        """The value; an empty string when it was never put."""
        return await self._installation.get(key)

    async def put_setting(self, key: str, value: str) -> None:
        """Set or replace."""
        await self._installation.put(key, value)

    async def close(self) -> None:
        """Wait for running writes, then close. Repeatable."""
        if self._service is not None:
            await self._service.close()
        await self._database.close()


async def open_store(
    data_dir: Path,
    *,
    secret_key: bytes | None = None,
    database_url: str | None = None,
    output_limit: int = OUTPUT_LIMIT,
    on_write: OnWrite | None = None,
) -> SqlStore:
    """Open (and where needed make and migrate) the store in ``data_dir``; safe in many processes at once.

    ``secret_key``: 32 bytes, used instead of the folder's ``secret.key``. ``database_url``: another
    database than the folder's own, as ``postgresql://…``; several servers share one, and its key.
    ``output_limit``: transcript bytes kept a session. ``on_write``: see ``store.database.OnWrite``.

    Raises StoreError: folder, database or key file unusable, or the database newer than this code;
    UsageError: ``secret_key`` has the wrong length, or ``database_url`` names no database we know.
    """
    given = SecretKey(secret_key) if secret_key is not None else None
    make_folder(data_dir)
    async with opening(data_dir):
        url = place_of(data_dir, database_url)
        if not database_url:
            prepare_sqlite(data_dir / DATABASE_NAME)
        database = Database(connect(url), on_write)
        try:
            await migrate(database)
            key = given or await _folder_key(data_dir / FILE_NAME, database)
        except BaseException:
            await database.close()
            raise
    return SqlStore(database, key, output_limit)


def place_of(data_dir: Path, database_url: str | None) -> sa.URL:
    """Where the records are. UsageError, without the URL, which may hold a password."""
    if not database_url:
        return sa.URL.create("sqlite+aiosqlite", database=str(data_dir / DATABASE_NAME))
    try:
        url = sa.make_url(database_url)
    except (sa.exc.ArgumentError, ValueError):
        url = sa.URL.create("")
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise UsageError(
            "this is no address of a PostgreSQL database",
            field="MOORAGE_DATABASE_URL",
            hint="write it like postgresql://user:password@host:5432/moorage",
        ) from None
    return url.set(drivername="postgresql+psycopg")


async def _folder_key(path: Path, database: Database) -> SecretKey | None:
    """The folder's key, made at first use; None when it has gone and there are secrets it encrypted:
    a new one would hide that they are lost."""
    discard_unfinished(path)
    key = read_key(path)
    if key is None and not await any_secret(database):
        key = make_key(path)
    return key
