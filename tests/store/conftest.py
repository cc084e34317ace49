"""An open store in a fresh folder, on each database that it may have."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moorage.store import SqlStore
from tests.store.homes import Home


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    url = request.getfixturevalue("postgresql_url") if request.param == "postgresql" else ""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return Home(folder, url)


@pytest.fixture
async def store(home: Home) -> AsyncIterator[SqlStore]:
    opened = await home.open()
    yield opened
    await opened.close()
