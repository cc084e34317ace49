"""Searches one of agentctl's fuzz targets with ``go test -fuzz``, which keeps what breaks it in testdata.

Called by the package's main program.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from hatch_build import go_environment
from tools.fuzz.found import Found

_TARGET = re.compile(r"^func (Fuzz\w+)\(f \*testing\.F\)", re.M)
_EXECUTIONS = re.compile(r"execs: (\d+)")
_KEPT = re.compile(r"Failing input written to (\S+)")


def targets(root: Path) -> dict[str, str]:
    """Name of each target → its package's folder, in the order of the folders."""
    found: dict[str, str] = {}
    for path in sorted((root / "agentctl").rglob("*_test.go")):
        for name in _TARGET.findall(path.read_text()):
            found[name] = str(path.parent.relative_to(root / "agentctl"))
    return found


def _in_memory() -> dict[str, str]:
    """Folders of tests in memory, where the system has some: inputs are written, synced and removed."""
    return {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}


def search(root: Path, name: str, folder: str, seconds: int) -> Found:
    """Fuzz for so many seconds. A broken promise ends it early: Go stops at the first."""
    words = (
        "test",
        "-run=^$",
        f"-fuzz=^{name}$",
        f"-fuzztime={seconds}s",
        "-fuzzminimizetime=20x",
        "-parallel=1",
        f"./{folder}",
    )
    done = subprocess.run(
        [os.environ.get("MOORAGE_GO", "go"), *words],
        cwd=root / "agentctl",
        env=go_environment(os.environ) | _in_memory(),
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    kept = tuple(f"agentctl/{folder}/{path}" for path in _KEPT.findall(said))
    if done.returncode != 0:
        sys.stderr.write(said[-4000:])
    tried = _EXECUTIONS.findall(said)
    return Found(
        name,
        "coverage (go)",
        int(tried[-1]) if tried else 0,
        seconds,
        kept,
        done.returncode != 0 and not kept,
    )
