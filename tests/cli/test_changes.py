"""``moorage changes`` and ``moorage export``: what is printed where, and nothing that drives a terminal."""

from __future__ import annotations

import dataclasses

import pytest

from moorage.cli.terminal import Terminal
from moorage.core.errors import Conflict
from tests.cli.harness import Cli
from tests.cli.scripted_views import CHANGED

NAME = "brisk-otter"
NOTHING = dataclasses.replace(CHANGED, files=(), patch=b"")


@pytest.mark.parametrize(
    "words", [("changes", NAME), ("export", NAME, "--patch")], ids=lambda words: words[0]
)
def test_a_pipe_gets_the_patch_byte_for_byte(cli: Cli, words: tuple[str, ...]) -> None:
    result = cli(*words)
    assert (result.code, result.out) == (0, CHANGED.patch)


def test_a_terminal_is_not_driven_by_what_a_pod_wrote(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terminal, "stdout_tty", True)
    assert cli("changes", NAME).text == "diff --git a/kept.txt b/kept.txt\n+\\x1b[31mred\n"
    refused = cli("export", NAME, "--patch")
    assert (refused.code, refused.out) == (2, b"")
    assert "moorage export brisk-otter --patch > FILE" in refused.err


def test_stat_tells_the_files(cli: Cli) -> None:
    lines = [line.split() for line in cli("changes", NAME, "--stat").text.splitlines()]
    assert lines[1:] == [["M", "1", "0", "kept.txt"], ["A", "binary", "binary", "logo.png"]]


def test_json_tells_the_same_with_the_commit(cli: Cli) -> None:
    found = cli("changes", NAME, "-o", "json").json
    assert (found["commit"], found["repository"]) == (CHANGED.commit, "/src/project")
    assert found["files"][1] == {"path": "logo.png", "status": "A", "added": None, "deleted": None}


@pytest.mark.parametrize(
    "words", [("changes", NAME), ("changes", NAME, "--stat"), ("export", NAME, "--patch")], ids=" ".join
)
def test_that_nothing_is_changed_is_said_and_no_failure(cli: Cli, words: tuple[str, ...]) -> None:
    cli.verbs.changed = NOTHING
    result = cli(*words)
    assert (result.code, result.out) == (0, b"")
    assert "nothing is changed since commit abc123def456" in result.err


def test_a_branch_is_made_and_its_commit_printed(cli: Cli) -> None:
    result = cli("export", NAME, "--branch", "agents/work")
    assert (result.code, result.text) == (0, "def456\n")
    assert ("export_branch", NAME, "agents/work") in cli.verbs.calls
    assert "2 files on branch agents/work of /src/project" in result.err
    made = cli("export", NAME, "--branch", "agents/work", "-o", "json").json
    assert (made["kind"], made["name"], made["commit"], made["files"]) == (
        "ExportedBranch",
        "agents/work",
        "def456",
        2,
    )


@pytest.mark.parametrize("words", [(), ("--patch", "--branch", "x")], ids=["neither", "both"])
def test_where_to_is_said_once(cli: Cli, words: tuple[str, ...]) -> None:
    result = cli("export", NAME, *words)
    assert result.code == 2
    assert "--patch > FILE, or --branch BRANCH" in result.err


@pytest.mark.parametrize(
    ("words", "verb"),
    [(("changes", NAME), "changes"), (("export", NAME, "--branch", "x"), "export_branch")],
    ids=["changes", "export"],
)
def test_a_refusal_is_told_with_what_to_do(cli: Cli, words: tuple[str, ...], verb: str) -> None:
    cli.verbs.failures[verb] = Conflict("no Pod to read", hint="moorage resume brisk-otter")
    result = cli(*words)
    assert (result.code, result.out) == (5, b"")
    assert "moorage resume brisk-otter" in result.err
