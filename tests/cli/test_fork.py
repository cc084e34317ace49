"""``moorage fork``: what is asked, what is printed, and what it ends with."""

from __future__ import annotations

import dataclasses

from moorage.core.errors import Conflict, SessionFailed
from moorage.core.session import SourceSpec
from moorage.ports.forks import ForkCheck, ForkRequest
from tests.cli.harness import Cli
from tests.cli.scripted_views import FORK, make_view

NAME = "brisk-otter"
REFUSED = dataclasses.replace(
    FORK,
    method="",
    checks=(
        ForkCheck("quiesced", "failed", "the agent of brisk-otter is running", "moorage stop brisk-otter"),
    ),
)


def test_all_that_is_typed_is_asked_for(cli: Cli) -> None:
    words = ("--n", "3", "--name", "try", "--method", "clone", "--live")
    assert cli("fork", NAME, *words).code == 0
    assert ("fork", NAME, ForkRequest(3, "try", "clone", True)) in cli.verbs.calls


def test_every_fork_is_started_and_named_as_it_runs(cli: Cli) -> None:
    cli.verbs.fork_preflight = dataclasses.replace(FORK, names=("a-fork-1", "a-fork-2"))
    cli.verbs.views = [make_view(NAME), make_view("a-fork-1"), make_view("a-fork-2")]
    result = cli("fork", NAME)
    assert (result.code, result.text) == (0, "a-fork-1\na-fork-2\n")
    assert cli.verbs.names("resume") == ["a-fork-1", "a-fork-2"]


def test_one_fork_that_does_not_start_keeps_the_others_from_nothing(cli: Cli) -> None:
    cli.verbs.fork_preflight = dataclasses.replace(FORK, names=("a-fork-1", "a-fork-2"))
    cli.verbs.views = [make_view(NAME), make_view("a-fork-1"), make_view("a-fork-2")]
    cli.verbs.failures["resume a-fork-1"] = SessionFailed("no true clone")
    result = cli("fork", NAME)
    assert (result.code, result.text) == (1, "a-fork-2\n")
    assert "no true clone" in result.err


def test_a_dry_run_prints_the_checks_and_makes_nothing(cli: Cli) -> None:
    result = cli("fork", NAME, "--dry-run")
    assert result.code == 0
    assert "would copy the workspace of brisk-otter into brisk-otter" in result.text
    assert not {call[0] for call in cli.verbs.calls} & {"fork", "resume"}


def test_a_dry_run_of_what_is_refused_says_why_and_ends_as_the_fork_would(cli: Cli) -> None:
    cli.verbs.fork_preflight = REFUSED
    result = cli("fork", NAME, "--dry-run")
    assert result.code == Conflict.exit_code
    assert "the agent of brisk-otter is running" in result.err
    assert "hint: moorage stop brisk-otter" in result.err
    assert "would" not in result.text
    found = cli("fork", NAME, "--dry-run", "-o", "json").json
    assert (found["success"], found["method"], found["checks"][0]["key"]) == (False, None, "quiesced")


def test_a_refusal_is_told_with_what_to_do(cli: Cli) -> None:
    cli.verbs.failures["fork"] = Conflict("the agent works", hint="moorage stop brisk-otter")
    result = cli("fork", NAME)
    assert (result.code, result.out) == (5, b"")
    assert "moorage stop brisk-otter" in result.err


def test_a_name_that_nobody_has_is_answered_with_the_nearest(cli: Cli) -> None:
    result = cli("fork", "brisk-oter")
    assert result.code == 3
    assert "did you mean brisk-otter?" in result.err


def test_describe_says_what_a_fork_was_made_from_and_how(cli: Cli) -> None:
    source = SourceSpec(kind="session", location="abc123", method="clone", origin="/src/project", commit="c1")
    cli.verbs.views = [make_view(NAME, source=source)]
    assert "clone of the workspace of session abc123" in cli("describe", NAME).text
    told = cli("describe", NAME, "-o", "json").json["source"]
    assert (told["kind"], told["location"], told["method"], told["commit"]) == (
        "session",
        "abc123",
        "clone",
        "c1",
    )
