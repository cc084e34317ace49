"""The folder of an embedded cluster is closed to others, whatever it was before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage.core.errors import StoreError
from moorage.core.kinds import NAMESPACES
from moorage.embedded import EmbeddedCluster


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Of mode 0755, under a umask that closes nothing."""
    before = os.umask(0)
    path = tmp_path / "cluster"
    path.mkdir()
    path.chmod(0o755)
    yield path
    os.umask(before)


def open_to_others(folder: Path) -> set[str]:
    return {path.name for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & 0o077}


async def test_all_it_makes_is_its_users_alone(folder: Path) -> None:
    cluster = EmbeddedCluster(folder, [])
    await cluster.start()
    cluster.objects().create(NAMESPACES, {"metadata": {"name": "n"}})
    assert {"objects.db", "objects.db-wal", "tokens.db", "kubeconfig"} <= set(os.listdir(folder))
    assert open_to_others(folder) == set()
    await cluster.stop()


async def test_what_an_older_version_left_open_is_closed_at_the_next_start(folder: Path) -> None:
    first = EmbeddedCluster(folder, [])
    await first.start()
    await first.stop()
    for path in (folder / "objects.db", folder / "tokens.db"):
        path.chmod(0o644)
    folder.chmod(0o755)
    again = EmbeddedCluster(folder, [])
    await again.start()
    assert open_to_others(folder) == set()
    await again.stop()


async def test_a_folder_with_other_things_in_it_is_not_closed_but_refused(folder: Path) -> None:
    (folder / "letters").mkdir()
    with pytest.raises(StoreError, match=r"holds more than an embedded cluster \(letters\)") as refused:
        await EmbeddedCluster(folder, []).start()
    assert f"chmod 700 {folder}" in refused.value.hint
    assert folder.stat().st_mode & 0o777 == 0o755
    assert os.listdir(folder) == ["letters"]
    folder.chmod(0o700)
    cluster = EmbeddedCluster(folder, [])
    await cluster.start()
    await cluster.stop()
