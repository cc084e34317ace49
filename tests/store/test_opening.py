"""Opening: an empty folder becomes a store, a newer or broken one is refused untouched."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from moorage.core.errors import StoreError
from moorage.store import migrate, open_store, tables
from moorage.store.service import tables as _service_tables  # noqa: F401 - they stand in the same metadata
from tests.store.samples import a_session


async def test_migrations_lead_from_nothing_to_exactly_the_tables_the_code_uses(tmp_path: Path) -> None:
    await (await open_store(tmp_path)).close()
    engine = create_engine(f"sqlite:///{tmp_path}/moorage.db")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []
    engine.dispose()


def test_the_revisions_the_code_names_are_the_files_there_are() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    chain = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(chain)) == migrate.REVISIONS


async def test_a_migration_that_died_half_way_leaves_nothing_and_the_next_open_repeats_it(
    tmp_path: Path,
) -> None:
    class PowerCut(Exception):
        pass

    def cut(point: str) -> None:
        raise PowerCut(point)

    with pytest.raises(PowerCut, match=r"before open\.migrate"):
        await open_store(tmp_path, on_write=cut)
    database = sqlite3.connect(tmp_path / "moorage.db")
    assert database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    database.close()
    store = await open_store(tmp_path)
    await store.sessions.add(a_session())
    await store.close()


async def test_several_new_folders_opened_at_once_each_get_their_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, inside = migrate._run_alembic, 0

    def alone(connection: Connection) -> None:
        nonlocal inside
        assert inside == 0, "two upgrades at once mix up their tables, or wait for each other for ever"
        inside += 1
        try:
            run(connection)
        finally:
            inside -= 1

    monkeypatch.setattr(migrate, "_run_alembic", alone)
    opened = await asyncio.gather(
        *(open_store(tmp_path / str(number)) for number in range(4)), return_exceptions=True
    )
    stores = [store for store in opened if not isinstance(store, BaseException)]
    assert stores == opened
    for store in stores:
        await store.sessions.add(a_session())
        assert len(await store.sessions.ids()) == 1
        await store.close()


async def test_a_database_newer_than_the_code_is_refused_and_not_changed(tmp_path: Path) -> None:
    await (await open_store(tmp_path)).close()
    database = sqlite3.connect(tmp_path / "moorage.db")
    with database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    before = (tmp_path / "moorage.db").read_bytes()
    with pytest.raises(StoreError, match="9999") as caught:
        await open_store(tmp_path)
    assert "upgrade moorage" in caught.value.hint
    assert (tmp_path / "moorage.db").read_bytes() == before


async def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "moorage.db").write_text("somebody's notes, rather longer than a hundred bytes. " * 9)
    with pytest.raises(StoreError, match="not a database") as caught:
        await open_store(tmp_path)
    assert caught.value.hint
    assert (tmp_path / "moorage.db").read_text().startswith("somebody's notes")


async def test_a_data_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError) as caught:
            await open_store(folder)
        assert "MOORAGE_DATA_DIR" in caught.value.hint


async def test_every_connection_waits_for_others_and_syncs_each_commit(tmp_path: Path) -> None:
    """synchronous=FULL (2) is what makes a WAL commit survive power loss."""
    from moorage.store.database import connect

    await (await open_store(tmp_path)).close()
    engine = connect(f"sqlite+aiosqlite:///{tmp_path}/moorage.db")
    pragmas = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    async with engine.connect() as connection:
        values = [(await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one() for name in pragmas]
    await engine.dispose()
    assert values == ["wal", 2, 1, 30_000]


async def test_a_write_whose_caller_was_cancelled_is_still_whole(tmp_path: Path) -> None:
    started = asyncio.Event()
    store = await open_store(tmp_path, on_write=lambda point: started.set())
    started.clear()
    adding = asyncio.ensure_future(store.sessions.add(a_session()))
    await started.wait()
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding
    await store.close()
    store = await open_store(tmp_path)
    assert await store.sessions.get("brave-otter") == a_session()
    await store.close()


async def test_the_installation_has_one_id_and_keeps_its_settings(tmp_path: Path) -> None:
    seen = set()
    for _ in range(2):
        store = await open_store(tmp_path)
        seen |= {await store.install_id(), await store.install_id()}
        await store.put_setting("transport", "exec")
        await store.put_setting("transport", "portforward")
        assert await store.get_setting("transport") == "portforward"
        assert await store.get_setting("never put") == ""
        await store.close()
    (only,) = seen
    assert len(only) == 12
    assert only[0].isalpha()
    assert only.isalnum()
    assert only == only.lower()


@pytest.mark.parametrize(
    ("free", "why", "hint"),
    [(0, "the disk is full", "free some space"), (1000, "disk I/O error", "must be an SQLite database")],
)
async def test_a_full_disk_is_told_from_a_broken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, why: str, hint: str
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise sqlite3.OperationalError("disk I/O error")  # SQLite's words for both

    monkeypatch.setattr(sqlite3, "connect", broken)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=free, f_frsize=4096))
    with pytest.raises(StoreError) as refused:
        await open_store(tmp_path)
    assert refused.value.message.endswith(f"cannot be opened: {why}")
    assert hint in refused.value.hint


async def test_a_close_that_is_cancelled_is_finished_before_that_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(tmp_path)
    await store.sessions.add(a_session())
    closing = asyncio.create_task(store.close())
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await asyncio.sleep(0)
            closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
    assert not caplog.records, "nothing was broken off"
    await (await open_store(tmp_path)).close()
