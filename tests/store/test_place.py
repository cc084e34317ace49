"""The data folder is removed or replaced under a process that uses it: told, not written into the void."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.core.errors import StoreError
from moorage.ports.store import RECORD_GONE
from moorage.store import open_store


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def replaced(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("copy"))
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)


@pytest.mark.parametrize("fate", [removed, replaced])
async def test_nothing_is_read_from_or_written_to_a_database_that_is_not_there_any_more(
    tmp_path: Path, fate: Callable[[Path], None]
) -> None:
    store = await open_store(tmp_path / "data")
    await store.put_setting("key", "value")
    fate(tmp_path / "data")
    for work in (store.get_setting("key"), store.put_setting("key", "other")):
        with pytest.raises(StoreError, match="removed or replaced") as told:
            await work
        assert told.value.details == {"state": RECORD_GONE}
        assert "kubectl get pods,pvc -A -l app.kubernetes.io/managed-by=moorage" in told.value.hint
    await store.close()


async def test_a_folder_that_others_open_meanwhile_is_the_same(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "data")
    await (await open_store(tmp_path / "data")).close()
    await store.put_setting("key", "value")
    assert await store.get_setting("key") == "value"
    await store.close()
