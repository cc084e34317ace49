"""Ctrl-C while the program is still loading, or already ending: 130, without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HELD = "import signal, sys\nsys.stdout.write('HELD\\n')\nsys.stdout.flush()\nsignal.pause()\n"
"""A module that holds up whoever imports it."""


def interrupted(folder: Path, *argv: str, **more: str) -> tuple[int, bytes]:
    """Exit code and stderr of a program that got SIGINT where it says that it is held up."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": f"{folder}:{ROOT / 'src'}", **more}
    with subprocess.Popen(
        [sys.executable, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while b"HELD" not in (line := process.stdout.readline()):
            assert line, process.stderr.read()
        process.send_signal(signal.SIGINT)
        return process.wait(), process.stderr.read()


def test_before_anything_of_ours_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "dataclasses.py").write_text(HELD)
    assert interrupted(tmp_path, "-m", "moorage", "version", "--client") == (130, b"")


@pytest.mark.parametrize("module", ["click", "asyncio"])
def test_while_it_loads(tmp_path: Path, module: str) -> None:
    (tmp_path / f"{module}.py").write_text(HELD)
    assert interrupted(tmp_path, "-m", "moorage", "version", "--client") == (130, b"")


def test_while_it_ends(tmp_path: Path) -> None:
    lines = (
        "import sys",
        "from moorage.__main__ import run",
        f"sys.stderr.flush = lambda: exec({HELD!r}, {{}})",
        "run()",
    )
    (tmp_path / "ending.py").write_text("\n".join(lines))
    assert interrupted(tmp_path, str(tmp_path / "ending.py"), "version", "--client") == (130, b"")


def test_the_installed_command_is_this_program() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["moorage"] == "moorage.__main__:run"
