"""A database as one file, and back: one form for SQLite and PostgreSQL, so that it also moves between them.

Gzip of JSON lines: a head, for each table its columns and its rows, and an end with a SHA-256 of all before
it. From one snapshot, while others go on writing. Secrets stay encrypted, and their key is not in it; nor are
sign-ins, links and remembered answers, which nobody should come in with again.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.errors import Conflict, IntegrityError, StoreError
from moorage.store import tables
from moorage.store.database import Database, database_now
from moorage.store.folder import sync_folder
from moorage.store.ledger import KEPT, REVISION
from moorage.store.migrate import REVISIONS
from moorage.store.service import tables as service

FORMAT: Final = "moorage-backup"
LEFT_OUT: Final = frozenset(
    table.name
    for table in (service.sign_ins, service.links, service.failures, service.answers, tables.changes)
)
FENCE_LEAP: Final = 1 << 20
"""Added to each fence that is put back: agentctl may have seen higher ones than the backup knows."""
REVISION_LEAP: Final = 4 * KEPT
"""Likewise to the revision, so that who followed before is told to read everything anew."""
LINE_LIMIT: Final = 1 << 28
_AT_ONCE: Final = 200


def kept() -> list[sa.Table]:
    """The tables of a backup, parents before what refers to them."""
    return [table for table in tables.metadata.sorted_tables if table.name not in LEFT_OUT]


async def back_up(database: Database, path: Path) -> int:
    """Write ``path``, which must not exist, with mode 0600; it appears whole or not at all. How many rows."""
    if path.exists():
        raise Conflict(f"{path} exists", field=str(path), hint="name another file")
    new = path.with_name(path.name + ".new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
                rows = await database.read(lambda connection: _written(connection, packed))
            file.flush()
            os.fsync(file.fileno())
        os.link(new, path)
        sync_folder(path.parent)
    except FileExistsError:
        raise Conflict(f"{path} exists", field=str(path), hint="name another file") from None
    except OSError as problem:
        raise StoreError(
            f"{path} cannot be written: {problem.strerror}", hint="name another place"
        ) from problem
    finally:
        new.unlink(missing_ok=True)
    return rows


async def put_back(database: Database, path: Path) -> int:
    """All rows of the backup in ``path``, in one transaction; how many. The database must hold nothing yet.

    IntegrityError: the file was cut short or changed; StoreError: it is no backup, or a newer Moorage's;
    Conflict: there are records already."""
    checked = _checked(path)

    async def work(connection: AsyncConnection) -> int:
        await _require_empty(connection)
        count = 0
        for table, rows in _batches(path):
            if table is not None and rows:
                await connection.execute(sa.insert(table), rows)
                count += len(rows)
        await _leap(connection)
        return count

    if checked["schema"] not in REVISIONS:
        raise StoreError(
            f"a newer Moorage made this backup: it has schema {checked['schema']}, we know {REVISIONS[-1]}",
            hint="upgrade moorage",
        )
    return await database.write("backup.put_back", work)


async def _written(connection: AsyncConnection, packed: gzip.GzipFile) -> int:
    digest, count = hashlib.sha256(), 0

    def line(value: object) -> None:
        text = msgspec.json.encode(value) + b"\n"
        digest.update(text)
        packed.write(text)

    made = (await connection.execute(sa.select(database_now()))).scalar_one()
    line({"format": FORMAT, "schema": REVISIONS[-1], "made_at": made})
    for table in kept():
        line({"table": str(table.name), "columns": [str(column.name) for column in table.c]})
        async for row in _rows(connection, table):
            line([_plain(value) for value in row])
            count += 1
    packed.write(msgspec.json.encode({"rows": count, "sha256": digest.hexdigest()}) + b"\n")
    return count


async def _rows(connection: AsyncConnection, table: sa.Table) -> AsyncIterator[sa.Row[Any]]:
    found = await connection.stream(sa.select(table).order_by(*table.primary_key))
    async for row in found:
        yield row


def _plain(value: object) -> object:
    return {"b": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _value(value: Any) -> Any:
    return base64.b64decode(value["b"]) if isinstance(value, dict) else value


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path, "rb") as file:
            yield from _each(file)
    except (EOFError, gzip.BadGzipFile) as problem:
        raise IntegrityError(f"{path} is no whole backup: {problem}", hint="use another copy") from None
    except OSError as problem:
        raise StoreError(f"{path} cannot be read: {problem.strerror or problem}") from problem


def _each(file: gzip.GzipFile) -> Iterator[bytes]:
    while line := file.readline(LINE_LIMIT):
        yield line


def _checked(path: Path) -> dict[str, Any]:
    """The head, once every byte was held against the SHA-256 at the end."""
    digest, count, head, last = hashlib.sha256(), 0, b"", b""
    for line in _lines(path):
        head = head or line
        digest.update(last)
        count += last.startswith(b"[")
        last = line
    try:
        began, end = (msgspec.json.decode(text, type=dict[str, Any]) for text in (head, last))
    except msgspec.MsgspecError:
        began, end = {}, {}
    if began.get("format") != FORMAT:
        raise StoreError(f"{path} is no backup of moorage")
    if (end.get("rows"), end.get("sha256")) != (count, digest.hexdigest()):
        raise IntegrityError(f"{path} was cut short or changed: its SHA-256 differs", hint="use another copy")
    return began


def _batches(path: Path) -> Iterator[tuple[sa.Table | None, list[dict[str, Any]]]]:
    """Rows by table; a column that we no longer have is left out, one that is new gets its default."""
    known = {table.name: table for table in kept()}
    table: sa.Table | None = None
    columns: list[str] = []
    rows: list[dict[str, Any]] = []
    for line in _lines(path):
        value = msgspec.json.decode(line)
        if isinstance(value, list):
            row = {name: _value(one) for name, one in zip(columns, value, strict=True)}
            rows.append({name: one for name, one in row.items() if table is not None and name in table.c})
        if isinstance(value, dict) or len(rows) == _AT_ONCE:
            yield table, rows
            rows = []
        if isinstance(value, dict):
            table, columns = known.get(value.get("table", "")), value.get("columns", [])


async def _require_empty(connection: AsyncConnection) -> None:
    """What opening makes (the counter, settings) may be there, and gives way."""
    for table in (tables.settings, tables.counters):
        await connection.execute(sa.delete(table))
    for table in kept():
        if (await connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1))).first():
            raise Conflict(
                f"the database holds records already ({table.name})",
                field="database",
                hint="put the backup into an empty folder (--data-dir) or database",
            )


async def _leap(connection: AsyncConnection) -> None:
    leases = tables.leases.c
    let_go = {"owner": "", "expires_at": 0.0, "fence": leases.fence + FENCE_LEAP}
    await connection.execute(sa.update(tables.leases).values(let_go))
    counter = sa.update(tables.counters).where(tables.counters.c.name == REVISION)
    await connection.execute(counter.values(value=tables.counters.c.value + REVISION_LEAP))
    if connection.dialect.name == "postgresql":
        for table in (tables.events, service.audit):
            sequence = sa.func.pg_get_serial_sequence(table.name, "id")
            following = sa.func.coalesce(sa.func.max(table.c.id), 0) + 1
            await connection.execute(sa.select(sa.func.setval(sequence, following, sa.false())))
