"""Run one named test in the copy, and say whether it passed, failed, or proved nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from enum import Enum
from pathlib import Path

# A mutant may make a test wait for ever. This ends it; nothing is judged by it.
PATIENCE_SECONDS = 300
PYTEST_PASSED, PYTEST_FAILED = 0, 1


class Verdict(Enum):
    """``BROKEN``: nothing ran, for a name that is not there or an import or build that fails."""

    PASSED = "passed"
    FAILED = "failed"
    HUNG = "hung"
    BROKEN = "did not run"


def run(test: str, copy: Path) -> tuple[Verdict, str]:
    """The verdict, and what the runner printed."""
    place, _, name = test.partition("::")
    argv, folder = (
        (pytest(test), copy) if place.endswith(".py") else (go_test(name, place), copy / "agentctl")
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(copy / "src"), str(copy)]),
        # Two versions of a file within one second and of one size would share a cached .pyc.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            argv,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Verdict.HUNG, ""
    judge = pytest_verdict if place.endswith(".py") else go_verdict
    return judge(done.returncode, done.stdout), done.stdout


def pytest(test: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]


def go_test(name: str, package: str) -> list[str]:
    inside = package.removeprefix("agentctl").strip("/")
    return [os.environ.get("MOORAGE_GO", "go"), "test", "-count=1", "-v", "-run", f"^{name}$", f"./{inside}"]


def pytest_verdict(code: int, output: str) -> Verdict:
    """Exit code 1 also stands for an error in a fixture, or for an unlisted skip: look closer."""
    summary = output.rstrip().rsplit("\n", 1)[-1]
    if code == PYTEST_PASSED and " passed" in summary:
        return Verdict.PASSED
    if code == PYTEST_FAILED and " failed" in summary:
        return Verdict.FAILED
    return Verdict.BROKEN


def go_verdict(code: int, output: str) -> Verdict:
    if code == 0 and "--- PASS" in output:
        return Verdict.PASSED
    if code != 0 and ("--- FAIL" in output or "\npanic: " in output):
        return Verdict.FAILED
    return Verdict.BROKEN
