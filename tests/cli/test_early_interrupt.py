"""Signals where no verb listens: while the program loads, reads its stdin, or already ends; those that were
ignored."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from moorage.cli.signals import on_signals

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds after which a test gives up on a program that does not end."""
HELD = "import signal, sys\nsys.stdout.write('HELD\\n')\nsys.stdout.flush()\nsignal.pause()\n"
"""A module that holds up whoever imports it."""


def interrupted(folder: Path, *argv: str, **more: str) -> tuple[int, bytes]:
    """Exit code and stderr of a program that got SIGINT where it says that it is held up."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": f"{folder}:{ROOT / 'src'}", **more}
    with subprocess.Popen(
        [sys.executable, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while b"HELD" not in (line := process.stdout.readline()):
            assert line, process.stderr.read()
        process.send_signal(signal.SIGINT)
        return process.wait(), process.stderr.read()


def test_before_anything_of_ours_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "dataclasses.py").write_text(HELD)
    assert interrupted(tmp_path, "-m", "moorage", "version", "--client") == (130, b"")


@pytest.mark.parametrize("module", ["click", "asyncio"])
def test_while_it_loads(tmp_path: Path, module: str) -> None:
    (tmp_path / f"{module}.py").write_text(HELD)
    assert interrupted(tmp_path, "-m", "moorage", "version", "--client") == (130, b"")


def test_while_it_ends(tmp_path: Path) -> None:
    lines = (
        "import sys",
        "from moorage.__main__ import run",
        f"sys.stderr.flush = lambda: exec({HELD!r}, {{}})",
        "run()",
    )
    (tmp_path / "ending.py").write_text("\n".join(lines))
    assert interrupted(tmp_path, str(tmp_path / "ending.py"), "version", "--client") == (130, b"")


STDIN = [
    ("template", "check", "-"),
    ("rm", "-y", "-f", "-"),
]


@pytest.mark.parametrize("argv", STDIN, ids=lambda argv: argv[0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_it_reads_stdin(tmp_path: Path, argv: tuple[str, ...], number: signal.Signals) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        [sys.executable, "-m", "moorage", *argv],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"#" * 150_000)  # more than a pipe holds: it returns once somebody reads
        process.stdin.flush()
        process.send_signal(number)
        assert process.wait(PATIENCE) == -number  # for a shell 130, 143
        assert process.stderr.read() == b""


async def test_a_signal_that_was_ignored_at_the_start_stays_so() -> None:
    heard: list[str] = []
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does it
    try:
        handlers = {signal.SIGHUP: lambda: heard.append("HUP"), signal.SIGTERM: lambda: heard.append("TERM")}
        with on_signals(handlers):
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
            while not heard:  # noqa: ASYNC110
                await asyncio.sleep(0)  # sleep: a turn of the loop
        assert heard == ["TERM"]
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_installed_command_is_this_program() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["moorage"] == "moorage.__main__:run"
