"""Ctrl-C in `moorage exec`: the command gets it, its end is ours, and a second one leaves at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from .commands import Moorage
from .conftest import Template
from .observed import Objects, pod_name, until

pytestmark = pytest.mark.node

CATCHES = "trap 'echo caught; exit 7' INT; echo ready; sleep 1000 & wait"
DEAF = "trap '' INT; echo ready; exec sleep 1234"


@pytest.fixture
def session(moorage: Moorage, template: Template) -> Iterator[str]:
    """A session whose agent does nothing."""
    flags = ("--name", "s", "-d", "--workspace", "empty_dir")
    moorage(*moorage.run_args(*flags, template=template(), command=["sleep", "10000"]))
    yield "s"
    moorage("rm", "-y", "--force", "s")


@pytest.mark.parametrize("flags", [(), ("-t",)], ids=["pipes", "terminal"])
def test_the_command_gets_it_and_its_end_is_ours(
    moorage: Moorage, session: str, flags: tuple[str, ...]
) -> None:
    running = moorage.start("exec", *flags, session, "--", "sh", "-c", CATCHES)
    running.until(b"ready")
    running.process.send_signal(signal.SIGINT)
    done = running.end()
    assert (done.code, b"caught" in done.out) == (7, True), done
    assert "error" not in done.err

    running = moorage.start("exec", *flags, session, "--", "sh", "-c", "echo ready; exec sleep 1000")
    running.until(b"ready")
    running.process.send_signal(signal.SIGINT)
    assert running.end().code == 130
    assert moorage.session(session)["status"] == "Running"


def test_a_second_one_leaves_at_once_and_the_command_is_hung_up(
    moorage: Moorage, session: str, objects: Objects
) -> None:
    pod = pod_name(moorage, session)
    running = moorage.start("exec", session, "--", "sh", "-c", DEAF)
    running.until(b"ready")
    running.process.send_signal(signal.SIGINT)
    running.until_said("Ctrl-C again leaves at once")
    running.process.send_signal(signal.SIGINT)
    done = running.end()
    assert (done.code, "left: the command in the Pod is hung up" in done.err) == (130, True), done
    until("the end of the command", lambda: objects.pids(pod, "sleep 1234") == [])
