"""The stage of a story: a fresh data folder and an empty namespace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moorage.store import open_store

from .stage import Stage, build


@pytest.fixture
async def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    store = await open_store(tmp_path / "data")
    made = build(store, tmp_path, monkeypatch)
    yield made
    await made.verbs.close()
