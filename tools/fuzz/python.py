"""Searches one Python target in a process of its own, which may end, hang or grow as it likes.

Called by the package's main program. Bounds: 20 s and 1 GiB for an input, as libFuzzer enforces them.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.fuzz.target import Target
from tools.fuzz.found import Found
from tools.setup.fetch import Places, cache_directory
from tools.setup.uv import uv_program

SECONDS_AN_INPUT = 20
MEBIBYTES = 1024
PATIENCE = 120
"""Seconds beyond the search's own time that its process may take to start and end."""


def get_atheris(root: Path, environment: Mapping[str, str]) -> bool:
    """Bring the dependency group ``fuzz`` into ``.venv``; False where it holds nothing for this machine."""
    if importlib.util.find_spec("atheris") is None:
        places = Places(root, cache_directory(environment))
        words = ("sync", "--locked", "--quiet", "--inexact", "--only-group", "fuzz")
        subprocess.run([uv_program(places), *words], cwd=root, check=False)
        importlib.invalidate_caches()
    return importlib.util.find_spec("atheris") is not None


def search(root: Path, target: Target, seconds: int, *, by_coverage: bool) -> Found:
    """Try inputs for so many seconds; what breaks a promise is put into the target's corpus."""
    module = "tools.fuzz.coverage" if by_coverage else "tools.fuzz.mutation"
    how = "coverage (atheris)" if by_coverage else "mutation"
    with tempfile.TemporaryDirectory(prefix="moorage-fuzz-") as scratch:
        figures = Path(scratch) / "figures.json"
        words = (target.name, str(seconds), str(figures), str(SECONDS_AN_INPUT), str(MEBIBYTES))
        with (Path(scratch) / "said").open("w+b") as said:
            try:
                done = subprocess.run(
                    [sys.executable, "-m", module, *words],
                    cwd=root,
                    stdout=said,
                    stderr=said,
                    check=False,
                    timeout=seconds + PATIENCE,
                )
                failed = done.returncode != 0
            except subprocess.TimeoutExpired:
                failed = True
            if failed:
                said.seek(0)
                sys.stderr.write(said.read()[-4000:].decode(errors="replace"))
        counted: dict[str, Any] = json.loads(figures.read_text()) if figures.exists() else {}
    return Found(
        target.name, how, counted.get("executions", 0), seconds, tuple(counted.get("crashers", ())), failed
    )
