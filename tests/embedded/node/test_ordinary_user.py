"""Everything beside this file also holds for a node that an ordinary user runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hatch_build import build_helpers

from .test_agentctl import ARCHITECTURE, BUILT

HERE = Path(__file__).parent
NOBODY = 65534
FILES = (
    "test_isolation.py",
    "test_lifecycle.py",
    "test_streams.py",
    "test_takeover.py",
    "test_volumes.py",
    "test_agentctl.py",
)


@pytest.mark.parametrize("file", FILES)
def the_same_holds_for_an_ordinary_user(file: str, folder: Path) -> None:
    (helper,) = build_helpers(folder / "helper", [ARCHITECTURE])
    for path in [*helper.parents][:2]:
        path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / file)],
        cwd=HERE.parents[2],
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            BUILT: str(helper),
        },
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "passed" in done.stdout


if os.geteuid() == 0:  # an ordinary user runs those tests as they are
    test_the_same_holds_for_an_ordinary_user = the_same_holds_for_an_ordinary_user
