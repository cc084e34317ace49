"""Builds with Go leave nothing in the user's configuration folder, and obey what it says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from testcluster import shell

from hatch_build import find_go, go_environment


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with a setting that a person made by ``go env -w``."""
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "GOENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".config/go").mkdir(parents=True)
    (tmp_path / ".config/go/env").write_text("GOPRIVATE=example.com\n")
    return tmp_path


@pytest.mark.parametrize("made_by", [go_environment, shell.go_environment], ids=["build", "cluster"])
def test_go_counts_nothing_and_keeps_the_persons_settings(
    home: Path, made_by: Callable[[], dict[str, str]]
) -> None:
    environment = {**os.environ, **made_by(), "GOTOOLCHAIN": "local", "GOCACHE": str(home / "go-build")}
    command = [find_go(), "env", "GOTELEMETRY", "GOPRIVATE"]
    done = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["off", "example.com"]
    assert [path.name for path in (home / ".config").rglob("*") if path.is_file()] == ["env"]


def test_settings_stay_where_a_person_keeps_them(home: Path) -> None:
    theirs = {"HOME": str(home), "XDG_CONFIG_HOME": "/etc/me"}
    assert go_environment(theirs)["GOENV"] == "/etc/me/go/env"
    assert go_environment({**theirs, "GOENV": "off"})["GOENV"] == "off"


def test_without_a_home_or_a_cache_nothing_is_changed(home: Path) -> None:
    (home / "file").touch()
    for environment in ({"PATH": "/bin"}, {"HOME": str(home), "XDG_CACHE_HOME": str(home / "file")}):
        assert go_environment(environment) == environment
