"""``wait``, ``ls --watch``, ``events --watch``: what each look brings, until somebody has seen enough."""

from __future__ import annotations

import json
import re

import pytest

from moorage.cli import watching
from moorage.cli.terminal import Terminal
from moorage.core.errors import Conflict, LinkError, MoorageError
from moorage.core.session import AgentExit, AgentRun, Diagnosis, Phase, State
from moorage.ports.link import Output
from moorage.ports.sessions import Progress, SessionView
from moorage.ports.store import SessionEvent
from tests.cli.harness import Cli
from tests.cli.scripted_streams import Pause
from tests.cli.scripted_views import make_view

EXITED = AgentRun(start_id="s", exit=AgentExit(code=0))
NO_IMAGE = Diagnosis("image", "ErrImagePull", "no such image", "check the name", terminal=True)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "INTERVAL", 0.0001)


def failed(phase: Phase = Phase.FAILED) -> SessionView:
    return make_view(word="Failed", state=State(phase=phase, since=1.0), diagnosis=NO_IMAGE, seen_intent=1)


def archived() -> SessionView:
    return make_view(word="Stopped", state=State(phase=Phase.ARCHIVED, since=1.0), seen_intent=1)


WAITS = [
    ("running", [[make_view(word="Starting")], [make_view(word="Running")]]),
    ("Running", [[make_view(word="Running")]]),
    ("stopped", [[make_view(word="Stopping")], [make_view(word="Unknown")], [make_view(word="Stopped")]]),
    ("paused", [[make_view(word="Paused")]]),
    ("exited", [[make_view()], [make_view(run=EXITED)]]),
    ("exited", [[make_view(word="Unhealthy", run=EXITED)]]),
    ("failed", [[make_view()], [failed()]]),
    ("archived", [[make_view()], [archived()]]),
    ("deleted", [[make_view()], [archived()], []]),
    ("deleted", [[]]),
    ("deleted", [[failed()], []]),
]


@pytest.mark.parametrize(("condition", "scenes"), WAITS, ids=[condition for condition, _ in WAITS])
def test_a_wait_ends_with_the_first_look_that_shows_it(
    cli: Cli, condition: str, scenes: list[list[SessionView]]
) -> None:
    cli.verbs.steps = [Pause(signalled=True)]
    cli.verbs.scenes = scenes
    result = cli("wait", "brisk-otter", "--for", condition)
    assert (result.code, result.text) == (0, "brisk-otter\n")
    assert scenes == []


HOPELESS = [("running", failed()), ("stopped", failed(Phase.LOST)), ("exited", archived())]


@pytest.mark.parametrize(("condition", "view"), HOPELESS, ids=[condition for condition, _ in HOPELESS])
def test_what_cannot_come_by_itself_is_not_waited_for(cli: Cli, condition: str, view: SessionView) -> None:
    cli.verbs.views = [view]
    result = cli("wait", "brisk-otter", "--for", condition)
    assert (result.code, result.out) == (1, b"")
    assert f"will not be {condition}" in result.err


def test_a_failed_session_that_was_just_resumed_is_waited_for(cli: Cli) -> None:
    view = make_view(word="Failed", state=State(phase=Phase.FAILED, since=1.0), seen_intent=0)
    cli.verbs.scenes = [[view], [make_view(word="Running")]]
    assert view.session.intent.number > view.session.seen_intent
    assert cli("wait", "brisk-otter", "--for", "running").code == 0


def test_at_the_end_of_the_limit_it_is_6_and_the_status_is_told(cli: Cli) -> None:
    result = cli("wait", "brisk-otter", "--for", "stopped", "--timeout", "0")
    assert (result.code, cli.verbs.names("view")) == (6, ["brisk-otter"])
    assert "brisk-otter is still Running, not stopped" in result.err
    assert cli("wait", "brisk-otter", "--for", "stopped", "--timeout", "20ms").code == 6


def test_what_is_so_already_or_is_only_looked_at_is_not_driven(cli: Cli) -> None:
    assert cli("wait", "brisk-otter", "--for", "running").code == 0
    assert cli("wait", "brisk-otter", "--for", "stopped", "--timeout", "0").code == 6
    assert cli.verbs.names("watch") == []


def test_several_names_are_all_waited_for_and_the_first_failure_is_the_code(cli: Cli) -> None:
    cli.verbs.views = [make_view("one-a"), make_view("two-b", word="Stopped")]
    result = cli("wait", "one-a", "nobody", "two-b", "--for", "stopped", "--timeout", "0")
    assert (result.code, result.text) == (6, "two-b\n")
    assert "there is no session 'nobody'" in result.err


def test_a_wait_drives_the_session_and_shows_none_of_its_output(cli: Cli) -> None:
    cli.verbs.steps = [Progress("agent", "started"), Output(0, b"secret words"), LinkError("gone")]
    cli.verbs.scenes = [[make_view()], [make_view()], [make_view(word="Stopped")]]
    result = cli("wait", "brisk-otter", "--for", "stopped")
    assert cli.verbs.names("watch") == ["brisk-otter"]
    assert cli.verbs.names("attach") == []
    assert (result.text, result.err) == ("brisk-otter\n", "")
    assert ("attachment.close",) in cli.verbs.calls


def test_the_objects_of_a_wait_are_those_of_ls(cli: Cli) -> None:
    waited = cli("wait", "brisk-otter", "--for", "running", "-o", "json").json
    assert waited == cli("ls", "-o", "json").json
    cli.verbs.views = []
    deleted = cli("wait", "brisk-otter", "--for", "deleted", "-o", "json").json
    assert deleted["items"] == [{"kind": "Session", "name": "brisk-otter", "status": "Deleted"}]


@pytest.mark.parametrize(
    "words", [(), ("--for", "happy"), ("--for", "running", "--timeout", "soon")], ids=str
)
def test_a_wait_for_nothing_is_a_usage_error(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli("wait", "brisk-otter", *words).code == 2
    assert cli.verbs.calls == []


SCENES = [
    [make_view("one-a")],
    [make_view("one-a", observed_at=1_795_000_200.0)],
    [make_view("one-a"), make_view("two-b", "Starting", created_at=1.0)],
    [make_view("one-a"), make_view("two-b", created_at=1.0)],
    [make_view("two-b", created_at=1.0)],
]
STORY = [
    ("ADDED", "one-a", "Running"),
    ("ADDED", "two-b", "Starting"),
    ("MODIFIED", "two-b", "Running"),
    ("DELETED", "one-a", "Running"),
]


def watched(cli: Cli, *words: str) -> str:
    cli.verbs.scenes = list(SCENES)
    result = cli("ls", "-w", *words)
    assert result.code == 130
    return result.text


def test_a_watch_prints_what_changed_and_nothing_else(cli: Cli) -> None:
    lines = [json.loads(line) for line in watched(cli, "-o", "json").splitlines()]
    assert [(line["type"], line["object"]["name"], line["object"]["status"]) for line in lines] == STORY


def test_in_a_pipe_a_watched_table_is_a_line_for_each_change(cli: Cli) -> None:
    lines = [re.split(r" {3,}", line)[:2] for line in watched(cli).splitlines()]
    assert lines == [
        ["NAME", "STATUS"],
        ["one-a", "Running"],
        ["two-b", "Starting"],
        ["two-b", "Running"],
        ["one-a", "Deleted"],
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-o", "name"), "one-a\ntwo-b\ntwo-b\none-a\n"),
        (("-q",), "one-a\ntwo-b\ntwo-b\none-a\n"),
        (("-o", "jsonpath={.name};"), "one-a;two-b;two-b;one-a;"),
        (
            ("-o", "custom-columns=N:.name,S:.status"),
            "N       S\none-a   Running\ntwo-b   Starting\ntwo-b   Running\none-a   Running\n",
        ),
    ],
    ids=" ".join,
)
def test_other_forms_are_watched_too(cli: Cli, words: tuple[str, ...], text: str) -> None:
    assert watched(cli, *words) == text


def test_watched_yaml_is_a_document_for_each_change(cli: Cli) -> None:
    assert re.findall(r"^---\ntype: (\w+)$", watched(cli, "-o", "yaml"), re.M) == [kind for kind, *_ in STORY]


def test_a_session_that_leaves_the_choice_is_shown_as_it_is(cli: Cli) -> None:
    cli.verbs.scenes = [[make_view("one-a")], [make_view("one-a", "Stopped")]]
    lines = cli("ls", "-w", "--state", "Running").text.splitlines()
    assert [re.split(r" {3,}", line)[1] for line in lines] == ["STATUS", "Running", "Stopped"]
    cli.verbs.scenes = [[make_view()], [archived()], [archived()]]
    lines = cli("ls", "-w").text.splitlines()
    assert [re.split(r" {3,}", line)[1] for line in lines] == ["STATUS", "Running", "Stopped"]


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terminal, "stdout_tty", True)
    monkeypatch.setattr(Terminal, "colour", lambda self, **_: False)


@pytest.mark.usefixtures("on_terminal")
def test_on_a_terminal_the_table_is_drawn_over_itself_when_it_changes(cli: Cli) -> None:
    cli.verbs.scenes = [[make_view("one-a")], [make_view("one-a")], [make_view("one-a", "Stopped")]]
    first, second = cli("ls", "-w").text.split("\x1b[2A\r\x1b[J")
    assert ("Running" in first, "Stopped" in second) == (True, True)
    assert first.count("NAME") == second.count("NAME") == 1


@pytest.mark.usefixtures("on_terminal")
def test_a_dumb_terminal_gets_lines(cli: Cli) -> None:
    cli.wiring.environ = {"TERM": "dumb", "COLUMNS": "80"}
    assert "\x1b" not in watched(cli)


@pytest.mark.usefixtures("on_terminal")
def test_a_table_longer_than_the_terminal_says_how_much_is_missing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", "5")
    monkeypatch.setenv("COLUMNS", "80")
    cli.verbs.scenes = [[make_view(f"s-{number}") for number in range(9)]]
    lines = cli("ls", "-w").text.splitlines()
    assert (len(lines), lines[-1]) == (4, "… 7 more")


def test_an_empty_list_is_said_and_watched(cli: Cli) -> None:
    cli.verbs.scenes = [[], [make_view("one-a")]]
    result = cli("ls", "-w", "-o", "name")
    assert (result.text, result.err) == ("one-a\n", "no sessions\n")


def test_events_go_on_until_the_session_is_removed(cli: Cli) -> None:
    cli.verbs.history = [SessionEvent(1.0, "Created", "by run", "session/brisk-otter")]
    cli.verbs.warnings = [Progress("warning", "events of Pod and claim are missing here")]
    cli.verbs.scenes = [[make_view()], [make_view()], [make_view()], []]
    result = cli("events", "brisk-otter", "-w")
    assert result.code == 0
    assert [line.split()[0] for line in result.text.splitlines()] == ["TIME", "1970-01-01T00:00:01Z"]
    assert result.err == (
        "warning: events of Pod and claim are missing here\nsession brisk-otter was removed\n"
    )


def test_a_new_event_is_a_new_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [SessionEvent(float(at), f"E{at}", "m", "pod/a") for at in range(1, 4)]
    seen = iter([events[:1], events[:1], events[:2], events[1:3]])
    monkeypatch.setattr(type(cli.verbs), "_next_scene", lambda self: setattr(self, "history", next(seen)))
    cli.verbs.failures = {}
    result = cli("events", "brisk-otter", "-w", "-o", "jsonpath={.name} ")
    assert result.text == "E1 E2 E3 "


@pytest.mark.parametrize("error", [Conflict("held"), LinkError("dead")], ids=repr)
def test_a_watch_that_cannot_look_ends_with_the_error(cli: Cli, error: MoorageError) -> None:
    cli.verbs.failures["list_views"] = error
    assert cli("ls", "-w").code == error.exit_code
