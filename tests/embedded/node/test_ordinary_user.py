"""Everything beside this file also holds for a node that an ordinary user runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NOBODY = 65534
INSIDE = "MOORAGE_TEST_ORDINARY_USER"


@pytest.mark.parametrize(
    "file",
    ["test_isolation.py", "test_lifecycle.py", "test_streams.py", "test_takeover.py", "test_volumes.py"],
)
@pytest.mark.timeout(600)
def test_the_same_holds_for_an_ordinary_user(file: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    if os.geteuid() != 0:
        return  # then all these tests run as one anyway
    base = tmp_path_factory.getbasetemp().parent / f"ordinary-{os.getpid()}-{file}"
    words = ["-q", "-p", "no:cacheprovider", f"--basetemp={base}", str(HERE / file)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=HERE.parents[2],
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
        },
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
