"""Secrets: readable with their key, unreadable without, and nowhere in clear."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.core.errors import IntegrityError, MoorageError, NotFound, StoreError, UsageError
from moorage.ports.store import Store
from moorage.store import open_store
from tests.store.homes import Home

PLANTED = b"hunter2-this-value-must-not-appear"
KEY = bytes(range(32))


async def test_a_value_comes_back_until_it_is_deleted(store: Store) -> None:
    await store.secrets.put("env/1", b"old")
    await store.secrets.put("env/1", PLANTED)
    await store.secrets.put("env/2", b"")
    assert await store.secrets.get("env/1") == PLANTED
    assert await store.secrets.get("env/2") == b""
    for _ in range(2):
        await store.secrets.delete("env/1")
    with pytest.raises(NotFound):
        await store.secrets.get("env/1")


async def test_nothing_that_is_kept_holds_a_value_in_clear(home: Home) -> None:
    store = await home.open()
    await store.secrets.put("env/1", PLANTED)
    live = await home.held()
    await store.close()
    assert b"env/1" in live  # we look where it was written
    assert PLANTED not in live + await home.held()


async def test_no_file_of_the_data_folder_holds_a_value_in_clear(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await store.secrets.put("env/1", PLANTED)
    live = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert await store.secrets.get("env/1") == PLANTED
    await store.close()
    closed = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert "moorage.db-wal" in live
    assert b"env/1" in live["moorage.db-wal"] + live["moorage.db"]  # we look where it was written
    assert not [name for name, data in (*live.items(), *closed.items()) if PLANTED in data]


async def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = await open_store(tmp_path / "new" / "data")
        await store.secrets.put("env/1", PLANTED)
        folder = tmp_path / "new" / "data"
        modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
        assert {"secret.key", "moorage.db", "moorage.db-wal"} <= set(modes)
        assert set(modes.values()) == {0o600}
        assert folder.stat().st_mode & 0o777 == 0o700
        await store.close()
    finally:
        os.umask(before)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
async def test_a_key_file_that_others_can_use_is_refused_with_the_command_that_mends_it(
    tmp_path: Path, mode: int
) -> None:
    await (await open_store(tmp_path)).close()
    key = tmp_path / "secret.key"
    key.chmod(mode)
    with pytest.raises(StoreError, match=f"{mode:04o}") as caught:
        await open_store(tmp_path)
    assert caught.value.hint == f"chmod 600 {key}"
    key.chmod(0o600)
    await (await open_store(tmp_path)).close()


def _link(key: Path) -> None:
    key.rename(key.with_name("real.key"))
    key.symlink_to("real.key")


def _folder(key: Path) -> None:
    key.unlink()
    key.mkdir(mode=0o700)


@pytest.mark.parametrize(
    "spoil",
    [_link, _folder, lambda k: k.write_bytes(b""), lambda k: k.write_bytes(b"ab" * 16 + b"\n")],
    ids=["symlink", "folder", "empty", "short"],
)
async def test_anything_but_a_plain_file_with_a_whole_key_is_refused(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    await (await open_store(tmp_path)).close()
    spoil(tmp_path / "secret.key")
    with pytest.raises(StoreError) as caught:
        await open_store(tmp_path)
    assert caught.value.hint


@pytest.mark.parametrize("written", [b"", b"ab" * 20])
async def test_a_key_whose_making_was_cut_short_is_made_anew(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "secret.key.new").write_bytes(written)
    store = await open_store(tmp_path)
    await store.secrets.put("env/1", PLANTED)
    await store.close()
    assert not (tmp_path / "secret.key.new").exists()
    store = await open_store(tmp_path)
    assert await store.secrets.get("env/1") == PLANTED
    await store.close()


async def test_another_key_opens_the_store_but_not_the_secret(home: Home) -> None:
    store = await home.open(secret_key=KEY)
    await store.secrets.put("env/1", PLANTED)
    await store.close()
    assert not (home.folder / "secret.key").exists()
    store = await home.open(secret_key=bytes(32))
    with pytest.raises(IntegrityError, match="encrypted with key"):
        await store.secrets.get("env/1")
    await store.close()


async def test_a_key_that_has_gone_is_never_silently_replaced(home: Home) -> None:
    store = await home.open()
    await store.secrets.put("env/1", PLANTED)
    await store.close()
    (home.folder / "secret.key").unlink()
    store = await home.open()
    for use in (store.secrets.get("env/1"), store.secrets.put("env/2", b"x")):
        with pytest.raises(IntegrityError, match="gone"):
            await use
    assert not (home.folder / "secret.key").exists()
    await store.close()


async def test_a_value_moved_to_another_reference_or_changed_does_not_decrypt(home: Home) -> None:
    store = await home.open()
    await store.secrets.put("env/1", PLANTED)
    await store.secrets.put("env/2", PLANTED)
    await home.change("UPDATE secrets SET ref = 'env/3' WHERE ref = 'env/1'")
    await home.change("UPDATE secrets SET sealed = :zeros WHERE ref = 'env/2'", zeros=bytes(40))
    for ref in ("env/3", "env/2"):
        with pytest.raises(IntegrityError, match="changed"):
            await store.secrets.get(ref)
    await store.close()


async def test_neither_values_nor_keys_appear_in_errors(home: Home) -> None:
    with pytest.raises(UsageError) as short:
        await home.open(secret_key=PLANTED)
    store = await home.open(secret_key=KEY)
    await home.change("DROP TABLE secrets")
    with pytest.raises(StoreError) as broken:
        await store.secrets.put("env/1", PLANTED)
    await store.close()
    for caught in (short.value, broken.value):
        text = chain(caught)
        assert PLANTED.decode() not in text
        assert KEY.hex() not in text
        assert str(KEY) not in text


def chain(problem: BaseException | None) -> str:
    """Everything that a log of the error and its causes could show."""
    text = ""
    while problem is not None:
        extra = (problem.hint, problem.field, problem.details) if isinstance(problem, MoorageError) else ()
        text += f"{problem!r} {problem} {extra}\n"
        problem = problem.__cause__
    return text
