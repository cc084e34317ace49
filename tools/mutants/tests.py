"""Run named tests in the copy, and say whether they passed, failed, or proved nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from xml.etree import ElementTree

from hatch_build import go_environment

# A mutant may make a test wait for ever. This ends it; nothing is judged by it.
PATIENCE_SECONDS = 300


class Verdict(Enum):
    """``BROKEN``: nothing ran, for a name that is not there or an import or build that fails."""

    PASSED = "passed"
    FAILED = "failed"
    HUNG = "hung"
    BROKEN = "did not run"


def run(tests: Sequence[str], copy: Path) -> tuple[Verdict, str]:
    """The verdict over ``tests``, all of Python or one of Go, and what the runner printed."""
    place, _, name = tests[0].partition("::")
    if not place.endswith(".py"):
        done = execute(go_test(name, place), copy / "agentctl", copy)
        return (go_verdict(done.returncode, done.stdout), done.stdout) if done else (Verdict.HUNG, "")
    with tempfile.TemporaryDirectory(prefix="moorage-verdict-") as folder:
        report = Path(folder) / "report.xml"
        done = execute(pytest(tests, report), copy, copy)
        if not done:
            return Verdict.HUNG, ""
        return pytest_verdict(report.read_text() if report.exists() else ""), done.stdout


def execute(argv: Sequence[str], folder: Path, copy: Path) -> subprocess.CompletedProcess[str] | None:
    """Run in the copy, with the copy's modules before the installed ones; None when it never ended."""
    environment = {
        **(go_environment() if folder.name == "agentctl" else os.environ),
        "PYTHONPATH": os.pathsep.join([str(copy / "src"), str(copy)]),
        # Two versions of a file within one second and of one size would share a cached .pyc.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        return subprocess.run(
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
        return None


def pytest(tests: Sequence[str], report: Path) -> list[str]:
    options = ["-q", "-x", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    return [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", *tests]


def go_test(name: str, package: str) -> list[str]:
    inside = package.removeprefix("agentctl").strip("/")
    return [os.environ.get("MOORAGE_GO", "go"), "test", "-count=1", "-v", "-run", f"^{name}$", f"./{inside}"]


def pytest_verdict(report: str) -> Verdict:
    """By pytest's report in the JUnit format, not by its exit code.

    Exit code 1 also stands for an error in a fixture and for an unlisted skip, and a test that failed may
    leave something open that changes the code once more.
    """
    cases = list(ElementTree.fromstring(report).iter("testcase")) if report else []
    if any(case.find("failure") is not None for case in cases):
        return Verdict.FAILED
    if cases and not any(case.find(word) is not None for case in cases for word in ("error", "skipped")):
        return Verdict.PASSED
    return Verdict.BROKEN


def go_verdict(code: int, output: str) -> Verdict:
    if code == 0 and "--- PASS" in output:
        return Verdict.PASSED
    if code != 0 and ("--- FAIL" in output or "\npanic: " in output):
        return Verdict.FAILED
    return Verdict.BROKEN
