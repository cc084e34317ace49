"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.harness import Cli


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Cli:
    return Cli(capfdbinary, tmp_path)


@pytest.fixture
def here(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory inside another that holds what must not change."""
    outside = cli.folder / "outside"
    place = outside / "here"
    place.mkdir(parents=True)
    (outside / "victim").write_text("untouched")
    monkeypatch.chdir(place)
    return place
