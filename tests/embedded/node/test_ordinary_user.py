"""Everything beside this file also holds for a node that an ordinary user runs."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hatch_build import build_helpers

from .test_agentctl import ARCHITECTURE, BUILT

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
NOBODY = 65534
FILES = (
    "test_isolation.py",
    "test_lifecycle.py",
    "test_streams.py",
    "test_takeover.py",
    "test_volumes.py",
    "test_agentctl.py",
)


def as_nobody(*argv: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Raises OSError where an ordinary user may not run the program."""
    return subprocess.run(
        argv,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.fixture(scope="module")
def interpreter() -> str:
    """Of our version, and in no folder that only root may enter."""
    named = f"python3.{sys.version_info.minor}"
    for program in (sys.executable, shutil.which(named, path="/usr/local/bin:/usr/bin")):
        try:
            as_nobody(program or "", "-c", "")
        except OSError:
            continue
        return str(program)
    pytest.skip(f"no {named} here that an ordinary user may run")


@pytest.fixture(scope="module")
def checkout() -> Iterator[tuple[Path, str]]:
    """The checkout and its PYTHONPATH, copied where the one there is lies in a folder of root's own."""
    root, packages = ROOT, [Path(path) for path in site.getsitepackages()]
    listed = as_nobody("/bin/ls", *map(str, (HERE, *packages)))
    if listed.returncode != 0:
        copied = Path(tempfile.mkdtemp(prefix="moorage-nobody-"))
        copied.chmod(0o755)
        ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", "node_modules")
        root = copied / "main"
        shutil.copytree(ROOT, root, ignore=ignored)
        for number, path in enumerate(packages):
            packages[number] = shutil.copytree(path, copied / f"packages{number}", ignore=ignored)
        for name, _, _ in os.walk(copied):
            Path(name).chmod(0o755)
    yield root, os.pathsep.join(map(str, [root / "src", *packages]))
    if root != ROOT:
        shutil.rmtree(root.parent)


@pytest.mark.node
@pytest.mark.parametrize("file", FILES)
def the_same_holds_for_an_ordinary_user(
    file: str, folder: Path, interpreter: str, checkout: tuple[Path, str]
) -> None:
    root, pythonpath = checkout
    test = root / HERE.relative_to(ROOT) / file
    (helper,) = build_helpers(folder / "helper", [ARCHITECTURE])
    for path in [*helper.parents][:3]:  # up to the folder of this test
        path.chmod(0o755)
    done = as_nobody(
        *(
            interpreter,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            str(test),
        ),
        cwd=root,
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": pythonpath,
            BUILT: str(helper),
        },
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "passed" in done.stdout


if os.geteuid() == 0:  # an ordinary user runs those tests as they are
    test_the_same_holds_for_an_ordinary_user = the_same_holds_for_an_ordinary_user
