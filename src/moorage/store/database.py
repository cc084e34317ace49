"""One SQL database: connections, transactions, the database's clock. Used by every part of ``store``.

A write that returned is on the disk. It runs to its end even when its caller is cancelled, so no caller
ever leaves half a transaction or a broken connection behind. Knows no table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from moorage.core.errors import StoreError
from moorage.ports.store import RECORD_GONE
from moorage.store.place import FREE_SPACE, Place, disk_is_full

T = TypeVar("T")
OnWrite = Callable[[str], None]
"""Told ``before NAME`` just before each commit and ``after NAME`` just after it, in the event loop."""

BUSY_MS = 30_000
"""How long a statement waits for another process's write."""

ATTEMPTS = 5
"""Of a transaction that PostgreSQL ends because it and another waited for each other."""
_AGAIN = ("40P01", "40001")
_GONE = ("42P01", "3D000")


class database_now(FunctionElement[float]):  # noqa: N801 - reads as the SQL function it is
    """Seconds since the epoch by the database's clock: the only clock that leases know."""

    type = sa.Double()
    inherit_cache = True


@compiles(database_now, "sqlite")
def _now_sqlite(element: Any, compiler: Any, **kw: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(database_now, "postgresql")
def _now_postgresql(element: Any, compiler: Any, **kw: Any) -> str:
    # Not now(): that is when the transaction began, which may be long before it got the row's lock.
    return "extract(epoch from clock_timestamp())::double precision"


def connect(url: sa.URL | str) -> AsyncEngine:
    """An engine whose transactions are real ones; opens no connection yet.

    Statement parameters never stand in errors or logs: they may be a session's output or a secret.
    """
    more: dict[str, Any] = {}
    if sa.make_url(url).get_backend_name() == "postgresql":
        limits = f"-c lock_timeout={BUSY_MS} -c idle_in_transaction_session_timeout={2 * BUSY_MS}"
        # Asked before each use, because a server that was started again ended all connections.
        more = {"pool_pre_ping": True, "connect_args": {"options": limits, "application_name": "moorage"}}
    engine = create_async_engine(url, hide_parameters=True, **more)
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes too late and is DEFERRED
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout={BUSY_MS}",
        "foreign_keys=ON",
        "synchronous=FULL",  # a commit in WAL mode survives power loss only with FULL
        "fullfsync=ON",  # the same on macOS; ignored elsewhere
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # IMMEDIATE, or a transaction that reads first fails when another process wrote in between.
    writes = connection.get_execution_options().get("moorage_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


class Database:
    """Runs units of work, each in one transaction."""

    def __init__(self, engine: AsyncEngine, on_write: OnWrite | None = None):
        self.engine = engine
        self.dialect = engine.dialect.name
        self._writer = engine.execution_options(moorage_write=True)
        # A read of several statements must see one state; SQLite's transactions always do.
        snapshot = {"isolation_level": "REPEATABLE READ"} if self.dialect == "postgresql" else {}
        self._reader = engine.execution_options(**snapshot)
        self._on_write = on_write or (lambda point: None)
        self._place = Place(engine.url.database or "") if self.dialect == "sqlite" else None
        self._turn = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()

    async def read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """``work``'s result, from one consistent snapshot."""
        return await self._to_the_end(self._read(work))

    async def write(self, name: str, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """``work``'s result once it is durable; nothing is changed when ``work`` raises.

        ``name`` is what the crash-test hook is told (see ``OnWrite``).
        """
        return await self._to_the_end(self._write(name, work))

    async def close(self) -> None:
        """Let running work finish, then close all connections. All of it is local and soon done: whoever is
        cancelled meanwhile is so after that, or a half-closed connection would complain to the person."""
        closing = asyncio.get_running_loop().create_task(self._close())
        cancelled: asyncio.CancelledError | None = None
        while not closing.done():
            try:
                await asyncio.wait((closing,))
            except asyncio.CancelledError as error:
                cancelled = error
        closing.result()
        if cancelled is not None:
            raise cancelled

    async def _close(self) -> None:
        while self._running:
            await asyncio.wait(tuple(self._running))
        await self.engine.dispose()

    def _check_place(self) -> None:
        if self._place is not None:
            self._place.check()

    async def _read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        self._check_place()
        try:
            async with self._reader.connect() as connection:
                return await work(connection)
        except (sa.exc.DatabaseError, sa.exc.InterfaceError) as problem:
            raise _explain(problem, self.engine.url.database or "") from problem

    async def _write(self, name: str, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        # SQLite's own waiting polls and is unfair: writers of this process queue here instead.
        async with self._turn:
            self._check_place()
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    result = await self._transaction(name, work)
                    break
                except sa.exc.IntegrityError:
                    raise  # the caller knows which of its rules this broke
                except (sa.exc.DatabaseError, sa.exc.InterfaceError) as problem:
                    if attempt == ATTEMPTS or _state(problem) not in _AGAIN:
                        raise _explain(problem, self.engine.url.database or "") from problem
            self._on_write(f"after {name}")
            return result

    async def _transaction(self, name: str, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        async with self._writer.connect() as connection, connection.begin() as transaction:
            result = await work(connection)
            self._on_write(f"before {name}")
            await transaction.commit()
        return result

    async def _to_the_end(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # seen, also when whoever waited for it has gone


def _state(problem: sa.exc.DBAPIError) -> str:
    """PostgreSQL's five characters; "" of SQLite."""
    return getattr(problem.orig, "sqlstate", None) or ""


def _explain(problem: sa.exc.DBAPIError, path: str) -> StoreError:
    """A driver's error in our words; its text names no values."""
    text = str(problem.orig).strip() or type(problem.orig).__name__
    if "disk I/O" in text and disk_is_full(path):
        text = "the disk is full"
    if _state(problem) in _GONE:
        return StoreError(
            f"the database, or a table of it, is gone: {text.splitlines()[0]}",
            hint="what runs in the cluster runs on; put the database back from a backup: moorage restore",
            details={"state": RECORD_GONE},
        )
    hint = "`moorage doctor` checks the data folder"
    if "locked" in text or "busy" in text or _state(problem) == "55P03":
        hint = f"another process has held the database for {BUSY_MS // 1000} s; find and end it"
    elif "full" in text:
        hint = FREE_SPACE
    elif "readonly" in text or "unable to open" in text:
        hint = "the data folder and the files in it must be writable by you"
    elif "connection" in text:
        hint = "PostgreSQL must run and take connections as MOORAGE_DATABASE_URL says"
    return StoreError(f"the database refused: {text}", hint=hint)


def insert_or(dialect: str, table: sa.Table, values: dict[str, Any], *, replace: bool) -> Any:
    """INSERT that on an existing primary key replaces the row, or leaves it (``replace=False``)."""
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        insert: Any = postgresql.insert(table).values(values)
    else:
        from sqlalchemy.dialects import sqlite

        insert = sqlite.insert(table).values(values)
    keys = [column.name for column in table.primary_key]
    if not replace:
        return insert.on_conflict_do_nothing(index_elements=keys)
    changed = {name: insert.excluded[name] for name in values if name not in keys}
    return insert.on_conflict_do_update(index_elements=keys, set_=changed)
