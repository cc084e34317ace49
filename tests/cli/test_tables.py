"""Tables at 80 columns, and what a Pod or cluster says in them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from moorage.cli.terminal import Terminal
from moorage.cli.text import age, nearest, plain
from moorage.core.session import (
    AgentExit,
    AgentRun,
    AgentSpec,
    Diagnosis,
    Phase,
    State,
    WorkspaceMode,
    WorkspaceSpec,
)
from moorage.ports.sessions import Check
from moorage.ports.store import SessionEvent
from tests.cli.harness import Cli, compare
from tests.cli.scripted_views import make_view

LONG = "node has insufficient memory: 3 nodes are available, none of them fits the request of 64Gi"

NO_IMAGE = Diagnosis("image", "ErrImagePull", "no such image", "check the name", terminal=True)


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """stdout is a terminal of 80 columns (as the wiring says) that shows no colour."""
    monkeypatch.setattr(Terminal, "stdout_tty", True)
    monkeypatch.setattr(Terminal, "colour", lambda self, **_: False)


@pytest.fixture
def full(cli: Cli) -> Cli:
    now = time.time()
    cli.verbs.views = [
        make_view("brisk-otter", created_at=now - 3 * 3600),
        make_view("calm-heron", "Starting", reason=LONG, node="", created_at=now - 42, pod_phase="Pending"),
        make_view(
            "old-raven",
            "Paused",
            namespace="staging",
            phase=Phase.PRESERVED,
            run=AgentRun(start_id="s", exit=AgentExit(code=3)),
            created_at=now - 9 * 86400,
            workspace=WorkspaceSpec(mode=WorkspaceMode.EXISTING_CLAIM, claim_name="data"),
        ),
        make_view(
            "shy-lynx", "Unknown", unknown="no answer since 2026-11-29T15:00:00Z", observed_at=0.0,
            created_at=now - 700, agent=AgentSpec(argv=("sh", "-c", "echo 'a b'")),
        ),
    ]  # fmt: skip
    cli.verbs.checks = [
        Check("server", "ok", "v1.36.3 at https://cluster.example", duration_ms=12),
        Check("rights", "failed", "pods/exec: create is denied", "kubectl create rolebinding …", 30),
        Check("helper", "warning", "linux/arm64 is not built", "build it", 0),
    ]
    cli.verbs.history = [
        SessionEvent(1_795_000_060.0, "AgentStarted", "pid 7: make"),
        SessionEvent(1_795_000_000.0, "Created", "by moorage run", "session/brisk-otter"),
        SessionEvent(1_795_000_030.0, "Pulling", "pulling the image", "pod/moorage-brisk-otter"),
    ]
    return cli


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("ls", ("ls",)),
        ("ls-wide", ("ls", "-o", "wide")),
        ("ls-name", ("ls", "-o", "name")),
        ("ls-by-status", ("ls", "--sort-by", "status")),
        ("ls-state", ("ls", "--state", "paused", "--state", "Running")),
        ("doctor", ("doctor",)),
        ("events", ("events", "brisk-otter")),
        ("rm-dry-run", ("rm", "brisk-otter", "--dry-run")),
        ("version", ("version",)),
    ],
)
@pytest.mark.usefixtures("on_terminal")
def test_a_table_is_as_recorded_and_fits_80_columns(full: Cli, name: str, argv: tuple[str, ...]) -> None:
    text = full(*argv).text
    assert max(map(len, text.splitlines())) <= 80 or name == "ls-wide"
    compare(f"tables/{name}.txt", text)


@pytest.mark.parametrize("form", ["table", "yaml"])
def test_a_description_is_as_recorded(full: Cli, form: str) -> None:
    full.verbs.views = [
        make_view(
            "brisk-otter",
            "Failed",
            reason="image",
            state=State(phase=Phase.FAILED, since=1_795_000_060.0),
            diagnosis=NO_IMAGE,
        )
    ]
    compare(f"tables/describe.{form}", full("describe", "brisk-otter", "-o", form).text)


@pytest.mark.parametrize(
    ("word", "commands"),
    [
        ("Running", ["attach brisk-otter", "logs brisk-otter -f", "stop brisk-otter"]),
        ("Paused", ["resume brisk-otter", "logs brisk-otter", "rm brisk-otter"]),
        ("Stopped", ["resume brisk-otter", "pause brisk-otter", "rm brisk-otter"]),
        ("Unknown", ["doctor", "events brisk-otter"]),
    ],
)
def test_a_description_ends_with_what_to_do_next(cli: Cli, word: str, commands: list[str]) -> None:
    cli.verbs.views = [make_view("brisk-otter", word)]
    text = cli("describe", "brisk-otter").text
    assert text.endswith("Next:\n" + "".join(f"  moorage {command}\n" for command in commands))


@pytest.mark.parametrize("environ", [{}, {"COLUMNS": "80"}], ids=str)
def test_in_a_pipe_no_reason_and_no_message_is_cut(full: Cli, environ: dict[str, str]) -> None:
    full.wiring.environ = environ
    full.verbs.history = [SessionEvent(1.0, "FailedScheduling", LONG)]
    full.verbs.checks = [Check("rights", "failed", LONG, LONG)]
    for argv in (("ls",), ("events", "brisk-otter"), ("doctor",)):
        assert LONG in full(*argv).text


def test_a_long_command_is_cut_in_a_pipe_too_and_whole_where_asked_for(cli: Cli) -> None:
    script = "for step in build test package publish; do make $step || exit; done"
    cli.verbs.views = [make_view(agent=AgentSpec(argv=("sh", "-c", script)))]
    assert script not in cli("ls").text
    assert "…" in cli("ls").text
    assert script in cli("ls", "-o", "wide").text
    assert script in cli("ls", "-o", "json").text


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"word": "Stopped", "phase": Phase.PRESERVED, "exit": AgentExit(code=3)}, "exited 3"),
        ({"word": "Paused", "phase": Phase.PRESERVED, "exit": AgentExit(code=0)}, "exited 0"),
        ({"word": "Stopped", "exit": AgentExit(signal=9, oom=True)}, "killed by SIGKILL (out of memory)"),
        ({"word": "Stopped", "exit": AgentExit()}, "exit status unknown"),
        (
            {"word": "Stopped", "exit": AgentExit(error="not_found: no such file: x")},
            "not started: no such file: x",
        ),
        ({"word": "Stopped", "phase": Phase.ARCHIVED, "exit": AgentExit(code=0)}, "archived"),
        ({"word": "Failed", "phase": Phase.FAILED, "diagnosis": NO_IMAGE}, "image: ErrImagePull"),
        ({"word": "Unknown", "unknown": "no answer", "exit": AgentExit(code=1)}, "no answer"),
        ({"word": "Unhealthy", "reason": "Pod not ready"}, "Pod not ready"),
        ({"word": "Running"}, "-"),
    ],
    ids=str,
)
def test_the_reason_of_a_session_says_how_it_ended_or_what_is_wrong(
    cli: Cli, fields: dict[str, Any], reason: str
) -> None:
    exit, phase = fields.pop("exit", None), fields.pop("phase", Phase.PRESERVED)
    run = AgentRun(start_id="s", exit=exit)
    cli.verbs.views = [make_view(state=State(phase=phase, since=1.0), run=run, **fields)]
    header, row = cli("ls", "-a").text.splitlines()
    assert row[header.index("REASON") :] == reason
    reason = reason.replace("-", "")
    assert cli("ls", "-a", "-o", "json").json["items"][0]["reason"] == reason
    assert cli("describe", "brisk-otter", "-o", "json").json["reason"] == reason
    assert (f"Reason:         {reason}\n" in cli("describe", "brisk-otter").text) == bool(reason)


@pytest.mark.parametrize("output", ["table", "wide"])
def test_a_script_of_doctor_is_printed_as_it_is_to_be_pasted(cli: Cli, output: str) -> None:
    script = "kubectl apply -f - <<'EOF'\n- {a: b}\nEOF\n"
    cli.verbs.checks = [Check("rights", "failed", "missing", f"an administrator runs this:\n{script[:-1]}")]
    result = cli("doctor", "-o", output)
    assert f"hint: an administrator runs this:\n{script}" in result.err
    assert len(result.text.splitlines()) == 2


def test_a_namespace_keeps_the_sessions_of_others_out(full: Cli) -> None:
    assert full("ls", "-n", "staging", "-o", "name").text == "old-raven\n"
    full.wiring.settings_set = {"namespace": "staging"}
    assert full("ls", "-o", "name").text == "old-raven\n"
    assert len(full("ls", "-A", "-o", "name").text.splitlines()) == 4
    assert full("ls", "-n", "nowhere").err == "no sessions in namespace nowhere\n"


def test_rm_all_in_a_namespace_removes_none_of_another(full: Cli) -> None:
    assert full("rm", "--all", "-y", "-n", "staging").text == "old-raven\n"
    assert full.verbs.names("remove") == ["old-raven"]


def test_control_characters_from_a_pod_are_shown_not_obeyed(cli: Cli) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07 a\rb\u202egnp.exe\nsecond line"
    cli.verbs.views = [make_view(reason=evil)]
    cli.verbs.history = [SessionEvent(1.0, "Evil", evil)]
    for argv in (("ls",), ("describe", "brisk-otter"), ("events", "brisk-otter")):
        text = cli(*argv).text
        assert "\\x1b[2J\\x1b]0;owned\\x07 a\\rb\\u202egnp.exe second line" in text
        assert not any(char in text for char in "\x1b\x07\r\u202e")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (0, "0s"), (59.9, "59s"), (119, "119s"), (120, "2m"), (3599, "59m"), (3600, "1h"),
     (86399, "23h"), (86400, "1d"), (10**9, "11574d")],
)  # fmt: skip
def test_an_age_is_short(seconds: float, text: str) -> None:
    assert age(seconds) == text


@pytest.mark.parametrize(
    ("word", "found"),
    [("attch", "attach"), ("rn", "run"), ("rum", "run"), ("ruin", "run"), ("urn", "run"), ("rmm", "rm"),
     ("lgos", "logs"), ("stpo", "stop"), ("zzzz", ""), ("", ""), ("LOGS", "")],
)  # fmt: skip
def test_the_nearest_word_is_found_or_none(word: str, found: str) -> None:
    assert nearest(word, ["rm", "run", "attach", "logs", "stop"]) == found


def test_plain_text_keeps_what_is_harmless() -> None:
    assert plain("größe 日本 🦦\tx") == "größe 日本 🦦 x"
    assert plain("a\nb", lines=True) == "a\nb"
