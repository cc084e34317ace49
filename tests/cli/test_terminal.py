"""On a real terminal: questions, Ctrl-C, raw mode, detach keys, changes of size."""

from __future__ import annotations

import ast
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("terminal_driver.py")
ROOT = DRIVER.parents[2]
PATIENCE = 30.0
"""Seconds without a byte after which a test gives up; nothing waits that long when it works."""


class Terminal:
    """A program on a pseudo-terminal, and a person who types."""

    def __init__(self, script: str, *argv: str) -> None:
        self._master, slave = pty.openpty()
        self.resize(100, 30)
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER), script, *argv],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "TERM": "dumb"},
        )
        os.close(slave)
        self.seen = ""

    def until(self, text: str) -> None:
        """Read until ``text`` was seen."""
        while text not in self.seen:
            ready, _, _ = select.select([self._master], [], [], PATIENCE)
            try:
                data = os.read(self._master, 65536) if ready else b""
            except OSError:  # how Linux says that the other end has closed
                data = b""
            assert data, f"{text!r} never came after {self.seen!r}"
            self.seen += data.decode()

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def resize(self, cols: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def ended(self) -> int:
        """The command's exit code, once it has ended; the terminal must be as it was."""
        self.until("CODE ")
        self.until("\n") if self.seen.endswith("CODE ") else None
        self.process.wait(PATIENCE)
        assert "RESTORED True" in self.seen
        match = re.search(r"CODE (\d+)", self.seen)
        assert match is not None
        return int(match.group(1))

    @property
    def calls(self) -> list[tuple[Any, ...]]:
        match = re.search(r"CALLS (.*)\r\n", self.seen)
        assert match is not None
        calls: list[tuple[Any, ...]] = ast.literal_eval(match[1])
        return calls

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)


Start = Callable[..., Terminal]


@pytest.fixture
def terminal() -> Iterator[Start]:
    started: list[Terminal] = []

    def start(script: str, *argv: str) -> Terminal:
        started.append(Terminal(script, *argv))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def template(tmp_path: Path) -> str:
    file = tmp_path / "pod.yaml"
    file.write_text("kind: PodTemplate\n")
    return str(file)


@pytest.mark.parametrize(("answer", "code", "removed"), [("y", 0, 1), ("yes", 0, 1), ("n", 1, 0), ("", 1, 0)])
def test_rm_lists_what_goes_and_asks(terminal: Start, answer: str, code: int, removed: int) -> None:
    screen = terminal("plain", "rm", "brisk-otter")
    screen.until("rm this session? [y/N] ")
    assert "deletes  pod/moorage-brisk-otter (uid pod-uid)\r\n" in screen.seen
    screen.type(f"{answer}\n")
    assert screen.ended() == code
    assert [call[0] for call in screen.calls].count("remove") == removed
    assert ("\r\nnothing was removed\r\n" in screen.seen) == (not removed)
    assert "error:" not in screen.seen


def test_ctrl_c_at_the_question_removes_nothing(terminal: Start) -> None:
    screen = terminal("plain", "rm", "brisk-otter")
    screen.until("[y/N] ")
    screen.type("\x03")
    assert screen.ended() == 130
    assert "remove" not in [call[0] for call in screen.calls]


@pytest.mark.parametrize("flag", ["-y", "--force"])
def test_yes_and_force_ask_nothing(terminal: Start, flag: str) -> None:
    screen = terminal("plain", "rm", "brisk-otter", flag)
    assert screen.ended() == 0
    assert "[y/N]" not in screen.seen
    assert [call[0] for call in screen.calls] == ["remove", "close"]


def test_no_input_asks_nothing_and_tells_the_command(terminal: Start) -> None:
    screen = terminal("plain", "--no-input", "rm", "brisk-otter", "--context", "dev")
    assert screen.ended() == 2
    assert "hint: to do it, run: moorage --context dev rm brisk-otter -y" in screen.seen
    assert "remove" not in [call[0] for call in screen.calls]


def test_ctrl_c_in_run_signals_the_agent_and_its_end_is_ours(terminal: Start, template: str) -> None:
    screen = terminal("signalled", "run", "--template", template, "--", "x")
    screen.until("READY")
    screen.type("\x03")
    assert screen.ended() == 130
    assert ("signal", 2) in screen.calls
    assert "the agent was ended by SIGINT" in screen.seen


def test_a_second_ctrl_c_leaves_it_running_and_tells_the_commands(terminal: Start, template: str) -> None:
    screen = terminal("deaf", "run", "--template", template, "--rm", "--", "x")
    screen.until("READY")
    screen.type("\x03")
    screen.until("Ctrl-C again leaves it running")
    screen.type("\x03")
    assert screen.ended() == 130
    for line in ("left running; --rm does not remove it while it runs", "attach", "stop", "rm"):
        assert line in screen.seen
    assert "remove" not in [call[0] for call in screen.calls]


def test_ctrl_c_before_the_agent_runs_leaves_the_session_as_it_is(terminal: Start, template: str) -> None:
    screen = terminal("starting", "run", "--template", template, "--", "x")
    screen.until("PULLING")
    screen.type("\x03")
    assert screen.ended() == 130
    assert "left as it is, not yet running" in screen.seen
    assert "signal" not in [call[0] for call in screen.calls]


def test_ctrl_c_before_the_agent_runs_removes_the_session_with_rm(terminal: Start, template: str) -> None:
    screen = terminal("starting", "run", "--template", template, "--rm", "--", "x")
    screen.until("PULLING")
    screen.type("\x03")
    assert screen.ended() == 130
    assert "remove" in [call[0] for call in screen.calls]
    assert "brisk-otter given up before its agent ran; removing it (--rm)" in screen.seen
    assert "left" not in screen.seen


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_to_us_before_the_agent_runs_does_what_ctrl_c_does(
    terminal: Start, template: str, number: signal.Signals, code: int
) -> None:
    screen = terminal("starting", "run", "--template", template, "--rm", "--", "x")
    screen.until("PULLING")
    screen.process.send_signal(number)
    assert screen.ended() == code
    assert "remove" in [call[0] for call in screen.calls]
    assert "brisk-otter given up before its agent ran; removing it (--rm)" in screen.seen
    assert "left" not in screen.seen


def test_a_signal_to_us_before_the_agent_runs_says_that_it_does_not(terminal: Start, template: str) -> None:
    screen = terminal("starting", "run", "--template", template, "--", "x")
    screen.until("PULLING")
    screen.process.send_signal(signal.SIGTERM)
    assert screen.ended() == 143
    assert "left as it is, not yet running" in screen.seen
    assert "remove" not in [call[0] for call in screen.calls]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_to_us_leaves_the_agent_running(
    terminal: Start, template: str, number: signal.Signals, code: int
) -> None:
    screen = terminal("deaf", "run", "--template", template, "--", "x")
    screen.until("READY")
    screen.process.send_signal(number)
    assert screen.ended() == code
    assert "left running" in screen.seen
    assert [call[0] for call in screen.calls][-2:] == ["attachment.close", "close"]


def test_attach_passes_keys_raw_and_ends_with_the_agents_code(terminal: Start) -> None:
    screen = terminal("tty", "attach", "brisk-otter")
    screen.until("READY")
    screen.type("\x03\x1a\x04exit\r")
    assert screen.ended() == 4
    typed = b"".join(call[1] for call in screen.calls if call[0] == "send_input")
    assert typed == b"\x03\x1a\x04exit\r"
    assert "exit" not in screen.seen.split("CALLS")[0]  # no echo of ours


@pytest.mark.parametrize("keys", [("\x10\x11",), ("\x10", "\x11")], ids=["at once", "one by one"])
def test_the_detach_keys_leave_it_running(terminal: Start, keys: tuple[str, ...]) -> None:
    screen = terminal("tty", "attach", "brisk-otter")
    screen.until("READY")
    for key in keys:
        screen.type(key)
    assert screen.ended() == 0
    assert "session brisk-otter left running" in screen.seen
    assert "send_input" not in [call[0] for call in screen.calls]


def test_the_first_detach_key_alone_is_passed_on_with_the_next_key(terminal: Start) -> None:
    screen = terminal("tty", "attach", "brisk-otter")
    screen.until("READY")
    screen.type("\x10xexit\r")
    assert screen.ended() == 4
    assert b"".join(c[1] for c in screen.calls if c[0] == "send_input") == b"\x10xexit\r"


def test_the_size_is_told_at_once_and_when_it_changes(terminal: Start) -> None:
    screen = terminal("resized", "attach", "brisk-otter")
    screen.until("READY")
    screen.resize(132, 50)
    assert screen.ended() == 4
    sizes = [call[1:] for call in screen.calls if call[0] == "resize"]
    assert (sizes[0], sizes[-1]) == ((100, 30), (132, 50))


def test_read_only_sends_nothing_and_ctrl_c_just_leaves(terminal: Start) -> None:
    screen = terminal("tty", "attach", "--read-only", "brisk-otter")
    screen.until("READY")
    screen.type("hello\n\x03")
    assert screen.ended() == 130
    assert {call[0] for call in screen.calls} == {"view", "attach", "attachment.close", "close"}


def test_keys_that_cannot_be_delivered_are_said_and_do_not_end_it(terminal: Start) -> None:
    screen = terminal("refusing", "attach", "brisk-otter")
    screen.until("READY")
    screen.type("x")
    screen.until("input was not delivered: another command drives it\r\n")
    screen.type("\x10\x11")
    assert screen.ended() == 0


def test_run_with_a_terminal_gives_ctrl_c_to_the_agent(terminal: Start, template: str) -> None:
    screen = terminal("tty-run", "run", "--template", template, "-it", "--", "bash")
    screen.until("READY")
    screen.type("\x03")
    assert screen.ended() == 130
    assert ("send_input", b"\x03") in screen.calls
    assert "signal" not in [call[0] for call in screen.calls]


def test_exec_with_a_terminal_is_raw_and_passes_its_size(terminal: Start) -> None:
    screen = terminal("echo", "exec", "-it", "brisk-otter", "--", "cat")
    screen.until("READY")
    screen.type("a\x03b")
    screen.until("a\x03b")
    screen.process.kill()


@pytest.mark.parametrize("flags", [(), ("-i",)], ids=["alone", "with stdin"])
def test_ctrl_c_in_exec_signals_the_command(terminal: Start, flags: tuple[str, ...]) -> None:
    screen = terminal("blocking", "exec", *flags, "brisk-otter", "--", "sleep", "9")
    screen.until("READY")
    screen.type("\x03")
    assert screen.ended() == 130
    assert ("process.signal", 2) in screen.calls


def test_ctrl_c_in_exec_is_a_key_where_the_command_has_a_terminal(terminal: Start) -> None:
    screen = terminal("blocking", "exec", "-t", "brisk-otter", "--", "sleep", "9")
    screen.until("READY")
    screen.type("\x03")
    assert screen.ended() == 130
    typed = [call[1] for call in screen.calls if call[0] == "process.write"]
    assert typed == [b"\x04", b"\x03"]
    assert not {"process.signal", "process.close_stdin"} & {call[0] for call in screen.calls}


@pytest.mark.parametrize("flags", [(), ("-t",)], ids=["pipes", "terminal"])
def test_a_second_ctrl_c_leaves_exec_at_once_and_says_what_becomes_of_the_command(
    terminal: Start, flags: tuple[str, ...]
) -> None:
    screen = terminal("unmoved", "exec", *flags, "brisk-otter", "--", "sleep", "9")
    screen.until("READY")
    screen.type("\x03")
    screen.until("Ctrl-C again leaves at once")
    screen.type("\x03")
    assert screen.ended() == 130
    assert "left: the command in the Pod is hung up" in screen.seen
    assert "process.close" in [call[0] for call in screen.calls]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_to_exec_hangs_up_and_restores_the_terminal(
    terminal: Start, number: signal.Signals, code: int
) -> None:
    screen = terminal("blocking", "exec", "-it", "brisk-otter", "--", "sh")
    screen.until("READY")
    screen.process.send_signal(number)
    assert screen.ended() == code
    assert "process.close" in [call[0] for call in screen.calls]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_following_a_log_in_order(terminal: Start, number: signal.Signals, code: int) -> None:
    screen = terminal("blocking", "logs", "-f", "brisk-otter")
    screen.until("READY")
    screen.process.send_signal(number)
    assert screen.ended() == code
    assert screen.calls[-1] == ("close",)
