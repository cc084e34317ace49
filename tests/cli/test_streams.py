"""stdout carries data and nothing else; the agent's bytes pass unchanged; a reader may go away."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from moorage.core.session import AgentExit
from moorage.ports.link import Gap, Output
from moorage.ports.sessions import Exited, Progress
from tests.cli.harness import Cli
from tests.cli.scripted import Scripted

EVERY_BYTE = bytes(range(256)) * 300


def test_output_of_the_agent_passes_byte_for_byte(cli: Cli) -> None:
    cli.verbs.steps = [
        Progress("agent", "started"),
        Output(0, EVERY_BYTE),
        Output(len(EVERY_BYTE), b"\xff\xfe no newline"),
        Exited(AgentExit(code=0)),
    ]
    assert cli.run().out == EVERY_BYTE + b"\xff\xfe no newline"


def test_progress_notices_and_gaps_are_on_stderr(cli: Cli) -> None:
    cli.verbs.steps = [
        Progress("storage", "claim bound"),
        Progress("warning", "tag is mutable"),
        Progress("agent", "pid 7"),
        Gap(0, 10),
        Gap(10, None),
        Output(10, b"data\n"),
        Exited(AgentExit(code=0)),
    ]
    result = cli.run()
    assert result.out == b"data\n"
    assert "running on context kind-dev, namespace agents" in result.err.splitlines()[0]
    for part in (
        "storage   claim bound",
        "warning: tag is mutable",
        "[10 bytes of output",
        "[an unknown number",
    ):
        assert part in result.err


def test_where_it_runs_is_said_before_anything_else_happens(cli: Cli) -> None:
    lines = cli.run().err.splitlines()
    assert lines[0] == "running on context kind-dev, namespace agents"
    assert "template accepted" in lines[1]


def test_quiet_leaves_only_the_name_and_warnings_on_stderr(cli: Cli) -> None:
    cli.verbs.steps = [
        Progress("pull", "x"),
        Progress("agent", "x"),
        Output(0, b"d"),
        Exited(AgentExit(code=0)),
    ]
    result = cli.run("-q")
    assert (result.out, result.err) == (b"d", "brisk-otter\n")


def test_detached_prints_the_name_on_stdout_and_leaves_output_unread(cli: Cli) -> None:
    cli.verbs.steps = [Progress("agent", "started"), Output(0, b"later"), Exited(AgentExit(code=3))]
    result = cli.run("-d")
    assert (result.code, result.out) == (0, b"brisk-otter\n")
    assert cli.verbs.calls[-2:] == [("view", "brisk-otter"), ("close",)]
    quiet = cli.run("-d", "-q")
    assert (quiet.out, quiet.err) == (b"brisk-otter\n", "")


def test_without_i_the_agents_stdin_is_closed_and_with_i_ours_is_passed_on(cli: Cli) -> None:
    cli.run()
    assert cli.verbs.request is not None
    assert not cli.verbs.request.stdin
    cli.run("-i")
    assert cli.verbs.request.stdin


@pytest.mark.parametrize(
    "argv",
    [("ls",), ("describe", "brisk-otter"), ("events", "brisk-otter"), ("doctor",), ("version",)],
    ids=lambda argv: argv[0],
)
def test_data_is_on_stdout_and_is_not_coloured_off_a_terminal(cli: Cli, argv: tuple[str, ...]) -> None:
    result = cli(*argv)
    assert b"\x1b" not in result.out
    assert "\x1b" not in result.err


def test_an_empty_list_says_so_on_stderr_and_ends_well(cli: Cli) -> None:
    cli.verbs.views = []
    result = cli("ls")
    assert (result.code, result.out) == (0, b"")
    assert result.err == "no sessions\n"
    assert cli("ls", "-o", "json").json == {"kind": "List", "items": []}


def test_colour_is_forced_and_refused_as_the_environment_says(cli: Cli) -> None:
    cli.wiring.environ = {"COLUMNS": "80", "CLICOLOR_FORCE": "1"}
    assert "\x1b[32mRunning" in cli("ls").text
    assert "\x1b" not in cli("ls", "--no-color").text
    cli.wiring.environ = {"COLUMNS": "80", "CLICOLOR_FORCE": "1", "NO_COLOR": "1"}
    assert "\x1b" not in cli("ls").text
    cli.wiring.environ = {"COLUMNS": "80", "CLICOLOR_FORCE": "0", "TERM": "dumb"}
    assert "\x1b" not in cli("ls").text


DRIVER = """
import sys
from tests.cli.scripted import *
from tests.cli.scripted_streams import *
from tests.cli.wired import ScriptedWiring
from moorage.cli.app import run_cli
flood = [Output(number * 65536, b"x" * 65536) for number in range(64)]
steps = [Progress("agent", "started"), *flood, Exited(AgentExit(code=0))]
verbs = Scripted(steps=steps)
sys.exit(run_cli(sys.argv[1:], ScriptedWiring(verbs)))
"""


def test_a_reader_that_goes_away_leaves_the_agent_running_and_ends_with_141(cli: Cli) -> None:
    argv = [sys.executable, "-c", DRIVER, "run", "--template", str(cli.template), "--", "x"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read().decode()
        assert process.wait() == 141
    assert "session brisk-otter left running" in err
    assert "Traceback" not in err
    assert "Exception" not in err


def test_a_list_into_a_closed_pipe_is_141_without_a_word() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    argv = [sys.executable, "-c", DRIVER, "ls"]
    process = subprocess.run(argv, stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert (process.returncode, process.stderr) == (141, b"")


def test_a_command_without_stdout_at_all_does_not_crash() -> None:
    line = f'exec {sys.executable} -c "$DRIVER" ls >&-'
    process = subprocess.run(
        ["sh", "-c", line], env={**os.environ, "DRIVER": DRIVER}, stderr=subprocess.PIPE, check=False
    )
    assert (process.returncode, process.stderr) == (141, b"")


INPUT_DRIVER = """
import sys
from tests.cli.scripted import *
from tests.cli.scripted_streams import *
from tests.cli.wired import ScriptedWiring
from moorage.cli.app import run_cli
verbs = Scripted(steps=[Progress("agent", "started"), Pause(until=b"END"), Exited(AgentExit(code=0))])
run_cli(sys.argv[1:], ScriptedWiring(verbs))
print(sum(len(call[1]) for call in verbs.calls if call[0] == "send_input"))
"""


def test_piped_input_reaches_the_agent_whole() -> None:
    payload = EVERY_BYTE + b"END"
    argv = [sys.executable, "-c", INPUT_DRIVER, "attach", "-i", "brisk-otter"]
    process = subprocess.run(argv, input=payload, stdout=subprocess.PIPE, check=True)
    assert process.stdout == f"{len(payload)}\n".encode()


@pytest.mark.parametrize("verb", ["ls", "run"])
def test_a_full_disk_is_an_error_and_not_a_traceback(cli: Cli, verb: str) -> None:
    words = ["ls"] if verb == "ls" else ["run", "--template", str(cli.template), "--", "x"]
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [sys.executable, "-c", DRIVER, *words], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert process.returncode == (1 if verb == "ls" else 125)
    assert b"error: cannot write the output: No space left on device" in process.stderr
    assert b"Traceback" not in process.stderr


def test_a_file_opened_in_place_of_a_closed_stdout_gets_no_output(cli: Cli) -> None:
    line = 'exec "$PYTHON" -c "$DRIVER" run --template "$TEMPLATE" -- x >&-'
    environ = {**os.environ, "DRIVER": DRIVER, "PYTHON": sys.executable, "TEMPLATE": str(cli.template)}
    process = subprocess.run(["sh", "-c", line], env=environ, stderr=subprocess.PIPE, check=False)
    assert process.returncode == 0
    assert cli.template.read_text().startswith("apiVersion")


def test_scripted_verbs_are_what_the_port_asks_for() -> None:
    from moorage.ports.sessions import SessionVerbs

    verbs: SessionVerbs = Scripted()
    assert verbs.where
