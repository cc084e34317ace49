"""An open store in a fresh folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moorage.store import SqlStore, open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = await open_store(tmp_path)
    yield opened
    await opened.close()
