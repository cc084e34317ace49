"""Which sessions a command is about: by labels, by a file of names, by another word for the verb."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from moorage.core.session import Session, change
from moorage.ports.sessions import SessionView
from tests.cli.harness import Cli
from tests.cli.scripted_views import make_view


def labelled(name: str, **labels: str) -> SessionView:
    """A session whose template gives its Pod these labels."""
    view = make_view(name)
    template: dict[str, Any] = {"template": {"metadata": {"labels": labels}, "spec": {}}}
    session: Session = view.session
    snapshot = change(session.inventory.snapshot, template=template)
    inventory = change(session.inventory, snapshot=snapshot)
    return make_view(name, inventory=inventory)


@pytest.fixture
def teams(cli: Cli) -> Cli:
    cli.verbs.views = [labelled("one-a", team="web"), labelled("two-b", team="api"), labelled("three-c")]
    return cli


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("team=web", "one-a\n"),
        ("team in (web,api)", "one-a\ntwo-b\n"),
        ("!team", "three-c\n"),
        ("moorage.dev/session-id=idtwob", "two-b\n"),
        ("team=none", ""),
    ],
)
def test_ls_shows_those_whose_pod_has_the_labels(teams: Cli, selector: str, names: str) -> None:
    assert teams("ls", "-q", "--sort-by", "age", "-l", selector).text == names


def test_json_shows_what_can_be_selected_by(teams: Cli) -> None:
    labels = teams("ls", "-l", "team=web", "-o", "json").json["items"][0]["labels"]
    assert labels["team"] == "web"
    assert labels["moorage.dev/session-id"] == "idonea"


@pytest.mark.parametrize("verb", ["ls", "rm"])
def test_what_is_no_selector_is_a_usage_error(teams: Cli, verb: str) -> None:
    result = teams(verb, "-l", "team web")
    assert result.code == 2
    assert "KEY=VALUE" in result.err
    assert teams.verbs.calls == [("close",)] or not teams.verbs.calls


def test_rm_by_labels_removes_those_alone(teams: Cli) -> None:
    assert teams("rm", "-l", "team=web", "-y").text == "one-a\n"
    assert teams.verbs.names("remove") == ["one-a"]


def test_rm_of_labels_nobody_has_removes_nothing_and_ends_well(teams: Cli) -> None:
    result = teams("rm", "-l", "team=none", "-y")
    assert (result.code, result.out, result.err) == (0, b"", "no sessions\n")


def test_rm_by_labels_tells_the_command_with_them(teams: Cli) -> None:
    result = teams("rm", "-l", "team in (web)", "--no-input")
    assert result.code == 2
    assert "rm -l 'team in (web)' -y" in result.err


def test_rm_takes_names_of_a_file_beside_those_typed(teams: Cli, tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.write_text("# of last week\n\ntwo-b\n  three-c\n")
    assert teams("rm", "-y", "one-a", "-f", str(names)).text == "one-a\ntwo-b\nthree-c\n"


def test_rm_takes_names_from_stdin_as_ls_prints_them(teams: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = teams("ls", "-o", "name").out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(listed)))
    assert teams("rm", "-y", "-f", "-").out == listed


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot read the file of names"),
        (b"one-a two-b\n", "holds 'one-a two-b'"),
        (b"\n# nothing\n", "names no session"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"x" * (1 << 20) + b"yz", "is larger than"),
    ],
)
def test_a_file_that_cannot_be_used_removes_nothing(
    teams: Cli, tmp_path: Path, content: bytes | None, said: str
) -> None:
    names = tmp_path / "names"
    if content is not None:
        names.write_bytes(content)
    result = teams("rm", "-y", "-f", str(names))
    assert result.code == (3 if content is None else 2)
    assert said in result.err
    assert teams.verbs.names("remove") == []


def test_an_unknown_name_of_the_file_ends_it_before_anything_is_removed(teams: Cli, tmp_path: Path) -> None:
    (tmp_path / "names").write_text("one-a\nnobody\n")
    assert teams("rm", "-y", "-f", str(tmp_path / "names")).code == 3
    assert teams.verbs.names("remove") == []


@pytest.mark.parametrize(
    "words", [("one-a", "--all"), ("one-a", "-l", "team"), ("--all", "-l", "team"), ("--all", "-f", "x")]
)
def test_two_ways_to_say_which_exclude_each_other(teams: Cli, words: tuple[str, ...]) -> None:
    result = teams("rm", "-y", *words)
    assert result.code == 2
    assert "exclude each other" in result.err


@pytest.mark.parametrize(("other", "verb"), [("list", "ls"), ("info", "describe"), ("start", "resume")])
def test_another_word_for_a_verb_does_the_same(cli: Cli, other: str, verb: str) -> None:
    words = () if verb == "ls" else ("brisk-otter",)
    assert cli(other, *words) == cli(verb, *words)
    assert cli(other, "--nope").err == cli(verb, "--nope").err


@pytest.mark.parametrize("word", ["get", "delete", "kill", "ps"])
def test_a_word_of_other_programs_is_answered_with_ours_and_does_nothing(cli: Cli, word: str) -> None:
    result = cli(word, "brisk-otter")
    assert result.code == 2
    assert f"there is no verb '{word}'" in result.err
    assert "hint: " in result.err
    assert not cli.verbs.calls
