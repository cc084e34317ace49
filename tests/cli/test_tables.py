"""Tables at 80 columns, and what a Pod or cluster says in them."""

from __future__ import annotations

import time

import pytest

from moorage.cli.text import age, nearest, plain
from moorage.core.session import AgentSpec, Diagnosis, Phase, State, WorkspaceMode, WorkspaceSpec
from moorage.ports.sessions import Check
from moorage.ports.store import SessionEvent
from tests.cli.harness import Cli, compare
from tests.cli.scripted import make_view

LONG = "node has insufficient memory: 3 nodes are available, none of them fits the request of 64Gi"


@pytest.fixture
def full(cli: Cli) -> Cli:
    now = time.time()
    cli.verbs.views = [
        make_view("brisk-otter", created_at=now - 3 * 3600),
        make_view("calm-heron", "Starting", reason=LONG, node="", created_at=now - 42, pod_phase="Pending"),
        make_view(
            "old-raven",
            "Paused",
            phase=Phase.PRESERVED,
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
        SessionEvent(1_795_000_000.0, "Created", "by moorage run"),
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
            diagnosis=Diagnosis("image", "ErrImagePull", "no such image", "check the name", terminal=True),
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


def test_in_a_pipe_nothing_is_cut(full: Cli) -> None:
    full.wiring.environ = {}
    assert LONG in full("ls").text


def test_control_characters_from_a_pod_are_shown_not_obeyed(cli: Cli) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07 a\rb\u202egnp.exe\nsecond line"
    cli.verbs.views = [make_view(reason=evil)]
    cli.verbs.history = [SessionEvent(1.0, "Evil", evil)]
    cli.wiring.environ = {}
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
    ("word", "found"), [("attch", "attach"), ("rn", "run"), ("zzzz", ""), ("", ""), ("LOGS", "")]
)
def test_the_nearest_word_is_found_or_none(word: str, found: str) -> None:
    assert nearest(word, ["run", "attach", "logs"]) == found


def test_plain_text_keeps_what_is_harmless() -> None:
    assert plain("größe 日本 🦦\tx") == "größe 日本 🦦 x"
    assert plain("a\nb", lines=True) == "a\nb"
