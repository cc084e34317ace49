"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.harness import Cli


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Cli:
    return Cli(capfdbinary, tmp_path)
