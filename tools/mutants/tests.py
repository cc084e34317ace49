"""Run named tests in the copy, and say whether they passed, failed, or proved nothing."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any
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


class Runner:
    """Runs tests in one copy of the checkout, one run after the other. End it with ``close``."""

    def __init__(self, copy: Path) -> None:
        self._copy = copy
        self._words = Path(tempfile.mkdtemp(prefix="moorage-verdict-"))
        self._warm = subprocess.Popen(
            [sys.executable, "-m", "tools.mutants.warm"],
            cwd=copy,
            env=environment(copy, os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # an answer that is kept in a buffer is not seen by select
        )

    def close(self) -> None:
        assert self._warm.stdin
        assert self._warm.stdout
        self._warm.stdin.close()
        self._warm.wait()
        self._warm.stdout.close()
        shutil.rmtree(self._words)

    def run(self, tests: Sequence[str]) -> tuple[Verdict, str]:
        """The verdict over ``tests``, all of Python or one of Go, and what the runner printed."""
        place, _, name = tests[0].partition("::")
        if not place.endswith(".py"):
            done = run_go(go_test(name, place), self._copy)
            return (go_verdict(done.returncode, done.stdout), done.stdout) if done else (Verdict.HUNG, "")
        report, output = self._words / "report.xml", self._words / "output"
        report.unlink(missing_ok=True)
        if not self._ended({"argv": pytest_words(tests, report), "output": str(output)}):
            return Verdict.HUNG, ""
        return pytest_verdict(report.read_text() if report.exists() else ""), output.read_text()

    def _ended(self, asked: dict[str, Any]) -> bool:
        """False when the run had to be killed."""
        assert self._warm.stdin
        assert self._warm.stdout
        self._warm.stdin.write(json.dumps(asked).encode() + b"\n")
        child = int(self._warm.stdout.readline())
        ended = bool(select.select([self._warm.stdout], [], [], PATIENCE_SECONDS)[0])
        if not ended:
            os.killpg(child, signal.SIGKILL)
        self._warm.stdout.readline()
        return ended


def environment(copy: Path, given: Mapping[str, str]) -> dict[str, str]:
    """The copy's modules before the installed ones."""
    return {
        **given,
        "PYTHONPATH": os.pathsep.join([str(copy / "src"), str(copy)]),
        # The cache of the copy is made by hash; one made here, by time and size, could hide a mutant.
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run_go(argv: Sequence[str], copy: Path) -> subprocess.CompletedProcess[str] | None:
    """Run in the copy; None when it never ended."""
    try:
        return subprocess.run(
            argv,
            cwd=copy / "agentctl",
            env=environment(copy, go_environment()),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None


def pytest_words(tests: Sequence[str], report: Path) -> list[str]:
    options = ["-q", "-x", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    # What was loaded before the run is not rewritten, and need not be: the libraries' own assertions.
    return [*options, "-W", "ignore::pytest.PytestAssertRewriteWarning", f"--junitxml={report}", *tests]


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
