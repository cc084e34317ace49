"""``run AGENT PATH``: an agent by name, what it is told, and how it is found again after a pause."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import yaml

from moorage.core.session import AgentSpec
from moorage.ports.sessions import LaunchRequest
from tests.cli.harness import Cli, Result
from tests.cli.scripted_views import make_view

DO = ("--prompt", "do it")
OWN = """\
title = "Bot"
secrets = ["BOT_KEY"]
[batch]
prompt = "argument"
argv = ["bot", "{args}", "{prompt}"]
resume = ["bot", "--again", "{args}"]
[terminal]
prompt = "typed"
argv = ["bot", "{args}"]
resume = ["bot", "--again", "{args}"]
[state]
BOT_HOME = "{state}"
"""


def run(cli: Cli, *argv: str) -> Result:
    return cli("run", "--template", str(cli.template), *argv)


def request(cli: Cli, *argv: str) -> LaunchRequest:
    result = run(cli, *argv)
    assert cli.verbs.request is not None, result.err
    return cli.verbs.request


def typed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_an_agent_and_a_path_make_a_request(cli: Cli) -> None:
    asked = request(cli, "claude-code", "https://h/r.git", *DO, "--", "--model", "opus")
    assert (list(asked.argv), asked.source) == (["claude", "-p", "--model", "opus"], "https://h/r.git")
    assert asked.env == {"CLAUDE_CONFIG_DIR": "/workspace/.moorage-state/claude-code"}
    assert asked.preset is not None
    assert (asked.preset.preset, asked.preset.input) == ("claude-code", "do it")
    assert list(asked.preset.resume_argv) == ["claude", "-p", "--continue", "--model", "opus"]


def test_a_terminal_starts_the_agent_for_typing(cli: Cli) -> None:
    asked = request(cli, "codex", ".", "-t", "-d")
    assert (list(asked.argv), asked.source, asked.tty) == (["codex"], ".", True)
    assert request(cli, "codex", "-t", "-d", *DO).argv == ("codex", "do it")


def test_custom_is_any_command(cli: Cli) -> None:
    asked = request(cli, "custom", *DO, "--", "bot", "-x")
    assert (list(asked.argv), asked.source) == (["bot", "-x"], "")
    assert asked.preset is not None
    assert asked.preset.input == "do it"


def test_a_path_alone_is_the_source_of_a_command(cli: Cli) -> None:
    asked = request(cli, "./there", "--", "make")
    assert (asked.source, list(asked.argv), asked.preset) == ("./there", ["make"], None)


@pytest.mark.parametrize(
    "path", [".", "..", "./src", "/srv/src", "~/src", "https://h/r.git", "git@h:r.git", "a/b"]
)
def test_what_is_a_path_is_seen_without_looking(cli: Cli, path: str) -> None:
    assert request(cli, path, "--", "make").source == path


def test_a_variable_of_ones_own_goes_before_the_presets(cli: Cli) -> None:
    assert request(cli, "codex", *DO, "-e", "CODEX_HOME=/x").env == {"CODEX_HOME": "/x"}


def test_a_preset_of_ones_own_is_one_like_ours(cli: Cli, tmp_path: Path) -> None:
    cli.wiring.own_presets = tmp_path / "presets"
    cli.wiring.own_presets.mkdir()
    (cli.wiring.own_presets / "bot.toml").write_text(OWN)
    asked = request(cli, "bot", *DO, "-e", "BOT_KEY=1")
    assert (list(asked.argv), asked.env["BOT_HOME"]) == (["bot", "do it"], "/workspace/.moorage-state/bot")
    listed = cli("preset", "ls", "-o", "json").json["items"]
    assert {one["name"]: one["place"] for one in listed}["bot"].endswith("presets/bot.toml")


@pytest.mark.parametrize("flag", ["--prompt", "--prompt-file"])
def test_a_prompt_may_come_on_stdin(cli: Cli, monkeypatch: pytest.MonkeyPatch, flag: str) -> None:
    typed(monkeypatch, "\ufeffdo this\nand that\n\n".encode())
    asked = request(cli, "claude-code", flag, "-")
    assert asked.preset is not None
    assert asked.preset.input == "do this\nand that"


def test_a_prompt_may_come_from_a_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("do this\n")
    asked = request(cli, "aider", "--prompt-file", str(tmp_path / "prompt.md"))
    assert "--message=do this" in asked.argv


@pytest.mark.parametrize(
    ("argv", "says", "hint"),
    [
        (["claud"], "no agent 'claud'", "did you mean claude-code?"),
        (["gemini", "."], "no agent 'gemini'", "did you mean gemini-cli?"),
        (["make", "test"], "no agent 'make'", "moorage run -- make test; agents: aider, claude-code, codex"),
        (["outside"], "no agent 'outside'", "for the directory write ./outside"),
        (["codex", ".", "fix it"], "unexpected word 'fix it'", "--prompt"),
        (["codex", ".", "--source", "x"], "both say what fills the workspace", "leave out one"),
        (["codex", "."], "needs a prompt", "-it to type to it yourself"),
        (["custom", *DO], "needs a command", "-- CMD"),
        ([*DO, "--", "make"], "a prompt needs an agent", "claude-code"),
        (["codex", "--prompt", " "], "the prompt is empty", "--prompt"),
        (["codex", *DO, "--prompt-file", "x"], "exclude each other", "leave out"),
        (["codex", "-i", "--prompt", "-"], "-i both want stdin", "another way"),
        (["codex", "-t", "--prompt", "--help me"], "read as a flag", "another character"),
        (["aider", "-t", "--prompt", "a\nb"], "one line of text", "a file of the source"),
        (["codex", "--prompt-file", "/no/such"], "cannot read the prompt /no/such", "path of a file"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_can(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, argv: list[str], says: str, hint: str
) -> None:
    (cli.folder / "outside").mkdir()
    monkeypatch.chdir(cli.folder)
    result = run(cli, *argv)
    assert result.code in (2, 125)
    assert says in result.err
    assert hint in result.err.partition("hint:")[2]
    assert cli.verbs.calls == []


KEYS = "ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN"


def test_a_missing_key_is_warned_of_with_the_flag_that_passes_it_on_and_never_taken(cli: Cli) -> None:
    result = run(cli, "claude-code", *DO)
    assert f"warning: claude-code is given no {KEYS}: add -e ANTHROPIC_API_KEY=…" in result.err
    cli.wiring.environ = {**cli.wiring.environ, "ANTHROPIC_AUTH_TOKEN": "planted-secret"}
    asked = request(cli, "claude-code", *DO)
    assert "planted-secret" not in asked.env.values()
    result = run(cli, "claude-code", *DO)
    assert "-e ANTHROPIC_AUTH_TOKEN passes on your own" in result.err
    assert "planted-secret" not in result.err


def test_a_key_that_is_given_is_not_missed(cli: Cli) -> None:
    assert "is given no" not in run(cli, "claude-code", *DO, "-e", "ANTHROPIC_AUTH_TOKEN=x").err
    cli.template.write_text(cli.template.read_text() + "      envFrom: [{secretRef: {name: keys}}]\n")
    assert "is given no" not in run(cli, "claude-code", *DO).err
    assert "is given no" not in run(cli, "custom", *DO, "--", "bot").err


def test_preset_ls_names_them_all(cli: Cli) -> None:
    names = cli("preset", "ls", "-o", "name").text.split()
    assert [name.rpartition("/")[2] for name in names] == list(cli.wiring.presets().names())


def test_preset_show_says_the_same_in_every_form(cli: Cli) -> None:
    shown = cli("preset", "show", "aider", "-o", "json").json
    assert shown == yaml.safe_load(cli("preset", "show", "aider", "-o", "yaml").text)
    assert shown["batch"]["resume"][-2:] == ["--message={prompt}", "{args}"]
    text = cli("preset", "show", "aider").text
    assert "aider --restore-chat-history {args}" in text
    assert "sets AIDER_CHAT_HISTORY_FILE" in text


def test_preset_show_of_none_names_the_nearest(cli: Cli) -> None:
    result = cli("preset", "show", "codx")
    assert (result.code, "did you mean codex?" in result.err) == (3, True)
    assert "presets here: aider" in cli("preset", "show", "zzz").err


def test_a_session_says_what_it_is_resumed_as(cli: Cli) -> None:
    agent = AgentSpec(argv=("bot",), preset="bot", resume_argv=("bot", "--again"))
    cli.verbs.views = [make_view(agent=agent)]
    text = cli("describe", "brisk-otter").text
    assert "bot --again" in text
    shown = cli("describe", "brisk-otter", "-o", "json").json["agent"]
    assert (shown["preset"], shown["resume_argv"]) == ("bot", ["bot", "--again"])
