"""The SDK as a newcomer tries it: no cluster, no setting, E2B's program with another import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.contract.data_folder import left_in
from tests.docs.test_sdk import PROGRAMS


def test_e2bs_quick_start_runs_where_nothing_is_set_up(tmp_path: Path) -> None:
    (tmp_path / "quick_start.py").write_text(PROGRAMS[0])
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "MOORAGE_DATA_DIR": str(tmp_path / "data"),
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "always::ResourceWarning", *words]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    try:
        done = run("quick_start.py")
    finally:
        run("-m", "moorage", "down", "-y")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello from E2B!\n\n", "")
    assert left_in(tmp_path / "data") == []
