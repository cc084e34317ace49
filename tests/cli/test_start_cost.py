"""What a verb that opens the store does not load: each of these costs every command a part of a second."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNNEEDED = (
    "sqlalchemy.dialects.postgresql",
    "alembic",
    "aiohttp",
    "yaml",
    "fastapi",
    "moorage.core.template",
    "moorage.server",
)
LISTED = "\n".join(
    (
        "import sys",
        "from moorage import __main__",
        "__main__._leave = lambda code: print(*sorted(sys.modules), file=sys.stderr)",
        "__main__.run()",
    )
)


@pytest.mark.parametrize("verb", ["ls", "describe nosuch"])
def test_a_verb_that_asks_no_cluster_loads_only_what_it_needs(tmp_path: Path, verb: str) -> None:
    def loaded() -> set[str]:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
        argv = [sys.executable, "-c", LISTED, *verb.split()]
        process = subprocess.run(argv, capture_output=True, text=True, env=env, check=False)
        return set(process.stderr.split())

    loaded()  # makes the database, which takes Alembic
    found = loaded()
    assert "sqlalchemy" in found
    assert found.isdisjoint(UNNEEDED)


def test_a_process_ends_without_being_taken_apart(tmp_path: Path) -> None:
    ending = "import atexit; atexit.register(print, 'apart'); from moorage.__main__ import run; run()"
    argv = [sys.executable, "-c", ending, "version", "--client"]
    process = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert process.stdout.startswith("client")
    assert "apart" not in process.stdout
