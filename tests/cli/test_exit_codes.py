"""What a command ends with: the agent's code where it carries one, else the error's own."""

from __future__ import annotations

import pytest

from moorage.core.errors import (
    AccessDenied,
    ApiError,
    ApiProblem,
    Conflict,
    DocumentError,
    MoorageError,
    NotFound,
    Problem,
    SessionFailed,
    WaitTimeout,
)
from moorage.core.session import AgentExit
from moorage.ports.link import ExitStatus
from moorage.ports.sessions import Check, Exited, Progress
from tests.cli.harness import Cli

AGENT_ENDS = [
    (AgentExit(code=0), 0),
    (AgentExit(code=7), 7),
    (AgentExit(code=255), 255),
    (AgentExit(signal=9), 137),
    (AgentExit(signal=15), 143),
    (AgentExit(signal=9, oom=True), 137),
    (AgentExit(), 125),
    (AgentExit(error="not_found"), 127),
    (AgentExit(error="not_executable: permission denied"), 126),
]


@pytest.mark.parametrize(("end", "code"), AGENT_ENDS, ids=repr)
def test_run_ends_with_what_the_agent_ended_with(cli: Cli, end: AgentExit, code: int) -> None:
    cli.verbs.steps = [Progress("agent", "started"), Exited(end)]
    assert cli.run().code == code


@pytest.mark.parametrize(("end", "code"), AGENT_ENDS, ids=repr)
def test_attach_ends_with_what_the_agent_ended_with(cli: Cli, end: AgentExit, code: int) -> None:
    cli.verbs.steps = [Exited(end)]
    assert cli("attach", "brisk-otter").code == code


@pytest.mark.parametrize(("end", "code"), AGENT_ENDS, ids=repr)
def test_exec_ends_with_what_the_command_ended_with(cli: Cli, end: AgentExit, code: int) -> None:
    cli.verbs.exit = ExitStatus(end.code, end.signal, end.oom, end.error)
    assert cli("exec", "brisk-otter", "--", "true").code == code


ERRORS = [
    (MoorageError("x"), 1),
    (DocumentError("x", [Problem("f", "c", "m")]), 1),
    (SessionFailed("x", details={"category": "image"}), 1),
    (ApiError(ApiProblem("transport")), 1),
    (NotFound("x", hint="h"), 3),
    (AccessDenied("x"), 4),
    (Conflict("x"), 5),
    (WaitTimeout("x"), 6),
]
PLAIN = [
    ("list_views", ("ls",)),
    ("view", ("describe", "brisk-otter")),
    ("view", ("attach", "brisk-otter")),
    ("stop", ("stop", "brisk-otter")),
    ("pause", ("pause", "brisk-otter")),
    ("resume", ("resume", "brisk-otter")),
    ("reset", ("reset", "brisk-otter")),
    ("archive", ("archive", "brisk-otter", "-y")),
    ("remove", ("rm", "brisk-otter", "-y")),
    ("plan", ("rm", "brisk-otter", "--dry-run")),
    ("logs", ("logs", "brisk-otter")),
    ("events", ("events", "brisk-otter")),
    ("doctor", ("doctor",)),
    ("list_files", ("cp", "brisk-otter:/f", "/")),
]


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    ("call", "argv"), PLAIN, ids=lambda value: value[0] if isinstance(value, tuple) else ""
)
def test_a_failure_ends_with_its_own_code(
    cli: Cli, error: MoorageError, code: int, call: str, argv: tuple[str, ...]
) -> None:
    cli.verbs.failures[call] = error
    assert cli(*argv).code == code


@pytest.mark.parametrize(("error", "_code"), ERRORS, ids=lambda value: type(value).__name__)
def test_run_keeps_its_own_failures_apart_from_the_agents(cli: Cli, error: MoorageError, _code: int) -> None:
    cli.verbs.failures["launch"] = error
    assert cli.run().code == 125


@pytest.mark.parametrize(("error", "_code"), ERRORS, ids=lambda value: type(value).__name__)
def test_exec_keeps_its_own_failures_apart_from_the_commands(
    cli: Cli, error: MoorageError, _code: int
) -> None:
    cli.verbs.failures["exec"] = error
    assert cli("exec", "brisk-otter", "--", "true").code == 125


def test_words_of_the_server_are_said_once(cli: Cli) -> None:
    said = "pods is forbidden: exceeded quota: small"
    error = SessionFailed(f"create Pod: {said}", details={"category": "quota"})
    error.__cause__ = ApiError(ApiProblem("status", 403, "Forbidden", said, "no"))
    cli.verbs.failures["launch"] = error
    assert cli.run().err.count(said) == 1


def test_a_session_that_cannot_start_is_125_and_its_commands_are_told(cli: Cli) -> None:
    cli.verbs.steps = [SessionFailed("no such image", hint="check the name", details={"category": "image"})]
    result = cli.run()
    assert result.code == 125
    assert "error: no such image\n  why: image\n  hint: check the name\n" in result.err
    assert "moorage rm brisk-otter" in result.err


def test_an_executor_that_is_broken_ends_every_verb_before_anything_is_asked(cli: Cli) -> None:
    cli.wiring.broken = NotFound("context 'dev' is not in the kubeconfig")
    assert cli("ls").code == 3
    assert cli.run().code == 125
    assert cli.verbs.calls == []


def test_output_that_ends_without_an_exit_is_unknown_never_0(cli: Cli) -> None:
    cli.verbs.steps = [Progress("agent", "started")]
    result = cli.run()
    assert result.code == 125
    assert "nothing told how the agent did" in result.err


def test_several_names_are_all_worked_on_and_the_first_failure_is_the_code(cli: Cli) -> None:
    result = cli("stop", "nobody-here", "brisk-otter")
    assert result.code == 3
    assert result.out == b"brisk-otter\n"


def test_a_repeated_name_is_worked_on_once(cli: Cli) -> None:
    assert cli("stop", "brisk-otter", "brisk-otter").code == 0
    assert cli.verbs.names("stop") == ["brisk-otter"]


@pytest.mark.parametrize(
    ("statuses", "code"),
    [(["ok"], 0), (["ok", "warning", "not_run"], 0), (["ok", "failed"], 1), ([], 0)],
    ids=str,
)
def test_doctor_fails_when_a_check_failed(cli: Cli, statuses: list[str], code: int) -> None:
    cli.verbs.checks = [Check(f"k{number}", status, "d", "f") for number, status in enumerate(statuses)]
    assert cli("doctor").code == code


def test_a_fault_of_ours_is_1_without_a_traceback_and_with_one_when_asked(cli: Cli) -> None:
    cli.verbs.views = []
    cli.verbs.steps = []
    result = cli.run()
    assert result.code == 125
    assert "error: a fault in Moorage itself (IndexError)" in result.err
    assert "Traceback" not in result.err
    assert "Traceback" in cli("-vv", "run", "--template", str(cli.template), "--", "x").err


def test_an_unreachable_server_does_not_fail_version(cli: Cli) -> None:
    cli.wiring.broken = ApiError(ApiProblem("transport", message="connection refused"))
    result = cli("version")
    assert (result.code, "unknown (connection refused)" in result.text) == (0, True)
