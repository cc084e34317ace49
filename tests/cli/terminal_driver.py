"""Runs one command line on a real terminal for tests/cli/test_terminal.py: ``SCRIPT ARGV…``.

Makes the terminal on stdin its controlling terminal, so that keys become signals as for a person. After
the command it prints what was asked of the verbs, and the exit code, on a line of its own.
"""

from __future__ import annotations

import fcntl
import os
import sys
import termios
from typing import Any

from moorage.cli.app import run_cli
from moorage.core.errors import Conflict
from moorage.core.session import AgentExit, AgentSpec, Phase
from moorage.ports.link import ExitStatus, Output
from moorage.ports.sessions import Exited, Progress
from tests.cli.scripted import Scripted
from tests.cli.scripted_streams import Pause
from tests.cli.scripted_views import make_view
from tests.cli.wired import ScriptedWiring

TTY_AGENT = AgentSpec(argv=("bash",), tty=True)
READY = Output(0, b"READY\r\n")

SCRIPTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "starting": {"steps": [Progress("pull", "PULLING"), Pause()]},
    "signalled": {
        "steps": [Progress("agent", "pid 7"), READY, Pause(signalled=True), Exited(AgentExit(signal=2))]
    },
    "deaf": {"steps": [Progress("agent", "pid 7"), READY, Pause()]},
    "tty": {
        "views": [make_view(agent=TTY_AGENT)],
        "steps": [READY, Pause(until=b"exit\r"), Exited(AgentExit(code=4))],
    },
    "tty-run": {
        "views": [make_view(agent=TTY_AGENT, phase=Phase.CONFIGURED)],
        "steps": [Progress("agent", "pid 7"), READY, Pause(until=b"\x03"), Exited(AgentExit(code=130))],
    },
    "refusing": {
        "views": [make_view(agent=TTY_AGENT)],
        "steps": [READY, Pause()],
        "failures": {"send_input": Conflict("another command drives it")},
    },
    "resized": {
        "views": [make_view(agent=TTY_AGENT)],
        "steps": [READY, Pause(size=(132, 50)), Exited(AgentExit(code=4))],
    },
    "echo": {"echo": True, "output": [(1, b"READY\r\n")], "exit": ExitStatus(code=5)},
    "unmoved": {"blocks": True, "deaf": True, "output": [(1, b"READY\r\n")]},
    "blocking": {
        "blocks": True,
        "output": [(1, b"READY\r\n")],
        "transcript": [READY],
        "exit": ExitStatus(signal=2),
    },
}


def plain(calls: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Calls as literals that the test can read back."""
    kept = (bool, str, bytes, tuple)
    return [
        tuple(a if isinstance(a, kept) else int(a) if isinstance(a, int) else type(a).__name__ for a in call)
        for call in calls
    ]


def main() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    before = termios.tcgetattr(0)
    verbs = Scripted(**SCRIPTS[sys.argv[1]])
    code = run_cli(sys.argv[2:], ScriptedWiring(verbs, environ={"TERM": os.environ.get("TERM", "dumb")}))
    restored = termios.tcgetattr(0) == before
    print(f"\nCALLS {plain(verbs.calls)!r}\nRESTORED {restored}\nCODE {code}", flush=True)


if __name__ == "__main__":
    main()
