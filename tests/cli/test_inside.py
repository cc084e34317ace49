"""exec, logs, attach from a pipe, completion: what reaches the session and what comes out."""

from __future__ import annotations

import subprocess
import sys

import pytest

from moorage.cli.tail import LastLines
from moorage.core.session import AgentRun
from moorage.ports.link import ExitStatus, Gap, Output, ProcessSpec
from tests.cli.harness import Cli
from tests.cli.scripted_views import make_view


def test_exec_keeps_stdout_and_stderr_apart_and_ends_its_stdin(cli: Cli) -> None:
    cli.verbs.output = [(1, b"out\xff\n"), (2, b"err\n"), (1, b"more")]
    cli.verbs.exit = ExitStatus(code=9)
    result = cli("exec", "brisk-otter", "-w", "/tmp", "-e", "A=1", "--", "sh", "-c", "x")
    assert (result.code, result.out, result.err) == (9, b"out\xff\nmore", "err\n")
    spec = cli.verbs.calls[0][2]
    assert isinstance(spec, ProcessSpec)
    assert (spec.argv, spec.cwd, spec.tty, spec.env) == (("sh", "-c", "x"), "/tmp", False, {"A": "1"})
    assert ("process.close_stdin",) in cli.verbs.calls
    assert cli.verbs.calls[-2:] == [("process.close",), ("close",)]


DRIVER = """
import sys
from tests.cli.scripted import *
from tests.cli.wired import ScriptedWiring
from moorage.cli.app import run_cli
sys.exit(run_cli(sys.argv[1:], ScriptedWiring(Scripted(echo=True))))
"""


def test_exec_pipes_stdin_through_whole() -> None:
    payload = bytes(range(256)) * 4096
    process = subprocess.run(
        [sys.executable, "-c", DRIVER, "exec", "-i", "brisk-otter", "--", "cat"],
        input=payload,
        stdout=subprocess.PIPE,
        check=True,
    )
    assert process.stdout == payload


def test_logs_are_the_stored_bytes_and_gaps_are_said_on_stderr(cli: Cli) -> None:
    cli.verbs.transcript = [Gap(0, 5), Output(5, b"\x1b[1mbold\xff\n")]
    result = cli("logs", "brisk-otter", "-f")
    assert (result.code, result.out) == (0, b"\x1b[1mbold\xff\n")
    assert result.err == "[5 bytes of output from byte 0 on are no longer kept]\n"
    assert cli.verbs.calls[0] == ("logs", "brisk-otter", True, 0)


def test_a_tail_that_follows_goes_on_where_the_stored_part_ended(cli: Cli) -> None:
    cli.verbs.transcript = [Output(10, b"1\n2\n"), Output(14, b"3\n")]
    assert cli("logs", "brisk-otter", "--tail", "2").out == b"2\n3\n"
    cli.verbs.calls.clear()
    cli("logs", "brisk-otter", "--tail", "2", "-f")
    assert [c for c in cli.verbs.calls if c[0] == "logs"] == [
        ("logs", "brisk-otter", False, 0),
        ("logs", "brisk-otter", True, 16),
    ]


def test_since_start_begins_at_the_first_byte_of_the_latest_start(cli: Cli) -> None:
    cli.verbs.views = [make_view(run=AgentRun(start_id="s", base_offset=4096))]
    cli("logs", "brisk-otter", "--since-start")
    assert ("logs", "brisk-otter", False, 4096) in cli.verbs.calls


def test_a_containers_log_comes_from_the_kubelet(cli: Cli) -> None:
    cli.verbs.kubelet = [b"a\n", b"b\n"]
    argv = ("logs", "brisk-otter", "-c", "side", "-f", "--tail", "5", "--timestamps")
    assert cli(*argv).out == b"a\nb\n"
    assert cli.verbs.calls[0] == ("container_logs", "brisk-otter", "side", False, True, 5, True)


def test_previous_without_a_container_means_the_main_one(cli: Cli) -> None:
    cli("logs", "brisk-otter", "-p")
    assert ("container_logs", "brisk-otter", "agent", True, False, None, False) in cli.verbs.calls


@pytest.mark.parametrize(
    ("count", "chunks", "kept"),
    [
        (2, [b"a\nb\nc\n"], b"b\nc\n"),
        (2, [b"a\nb", b"b\nc"], b"bb\nc"),
        (1, [b"no newline"], b"no newline"),
        (9, [b"a\n", b"b\n"], b"a\nb\n"),
        (0, [b"a\n"], b""),
        (1, [b"\n\n\n"], b"\n"),
        (3, [b""], b""),
    ],
)
def test_the_last_lines_are_kept(count: int, chunks: list[bytes], kept: bytes) -> None:
    last = LastLines(count)
    for chunk in chunks:
        last.add(chunk)
    assert last.text() == kept


def test_the_last_lines_of_much_are_kept_without_keeping_much() -> None:
    last = LastLines(3)
    for number in range(400_000):
        last.add(b"line %d\n" % number)
    assert last.text() == b"line 399997\nline 399998\nline 399999\n"
    assert len(last._kept) < 3 << 20


def test_attach_without_a_keyboard_passes_nothing_on(cli: Cli) -> None:
    assert cli("attach", "brisk-otter", "--from-start").code == 0
    assert ("attach", "brisk-otter", True) in cli.verbs.calls
    assert {"send_input", "close_input", "resize"}.isdisjoint(call[0] for call in cli.verbs.calls)
