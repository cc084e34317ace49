"""The contracts of ``.importlinter`` refuse what they are there to refuse."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "cli",
    "server",
    "sdk",
    "sessions",
    "engine",
    "kube",
    "store",
    "embedded",
    "presets",
    "ports",
    "core",
)


@pytest.fixture
def empty_tree(tmp_path: Path) -> Path:
    """Our packages with nothing in them, and our contracts."""
    shutil.copy(ROOT / ".importlinter", tmp_path)
    for name in ("", *PACKAGES):
        folder = tmp_path / "src" / "moorage" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    for name in ("main", "settings"):
        (tmp_path / "src" / "moorage" / f"{name}.py").touch()
    return tmp_path


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


REFUSED = {
    "a lower layer uses a higher one": ("kube/client.py", "import moorage.engine"),
    "core uses a port": ("core/plan.py", "import moorage.ports"),
    "core waits": ("core/plan.py", "import asyncio"),
    "core reads the clock": ("core/plan.py", "from time import monotonic"),
    "core draws": ("core/plan.py", "import secrets"),
    "core reaches the network": ("core/plan.py", "import socket"),
    "a port names a library": ("ports/store.py", "import sqlalchemy"),
    "the command line uses an adapter": ("cli/run.py", "import moorage.kube"),
    "the command line uses the sessions of this process": ("cli/run.py", "import moorage.sessions"),
    "the command line reads files of presets": ("cli/run.py", "import moorage.presets"),
    "the SDK uses an adapter": ("sdk/sandbox.py", "import moorage.engine"),
    "the SDK uses the sessions of this process": ("sdk/sandbox.py", "import moorage.sessions"),
    "the SDK uses the composition root": ("sdk/opening.py", "import moorage.main"),
    "the server uses the sessions of this process": ("server/stop.py", "import moorage.sessions"),
    "the server uses an adapter": ("server/run.py", "import moorage.store"),
    "the server speaks SQL": ("server/run.py", "import sqlalchemy"),
    "siblings use each other": ("store/rows.py", "import moorage.kube"),
    "the embedded cluster uses the adapter that talks to it": ("embedded/api.py", "import moorage.kube"),
    "settings are read below main": ("engine/act.py", "import moorage.settings"),
    "settings are read by a verb": ("cli/run.py", "import moorage.settings"),
    "a package without a place": ("helpers.py", "x = 1"),
}


@pytest.mark.parametrize(("file", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_an_import_against_the_layers_is_refused(empty_tree: Path, file: str, text: str) -> None:
    (empty_tree / "src" / "moorage" / file).write_text(f"{text}\n")
    done = lint(empty_tree)
    assert done.returncode == 1, done.stdout + done.stderr


def test_the_way_down_is_open(empty_tree: Path) -> None:
    allowed = {
        "main.py": "import moorage.settings, moorage.cli, moorage.sessions, moorage.kube, moorage.store",
        "cli/run.py": "import moorage.ports, moorage.core",
        "server/run.py": "import fastapi, uvicorn, moorage.ports, moorage.core",
        "sessions/stop.py": "import moorage.engine, moorage.ports",
        "engine/act.py": "import asyncio, moorage.ports, moorage.core",
        "kube/client.py": "import aiohttp, moorage.ports",
        "settings.py": "import os, moorage.core",
    }
    for file, text in allowed.items():
        (empty_tree / "src" / "moorage" / file).write_text(f"{text}\n")
    done = lint(empty_tree)
    assert done.returncode == 0, done.stdout + done.stderr
