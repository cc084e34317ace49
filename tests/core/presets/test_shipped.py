"""Each preset that comes with Moorage, as a table: what is run first, what again, and what it is told."""

from __future__ import annotations

from importlib import resources

import pytest

from moorage.core.presets import applied
from moorage.presets import Presets

SHIPPED = ["aider", "claude-code", "codex", "custom", "gemini-cli", "opencode"]
ON = "Continue where you left off."

Row = tuple[list[str], str, list[str], str]
WAYS: dict[tuple[str, bool], Row] = {
    ("claude-code", False): (["claude", "-p", "-x"], "do it", ["claude", "-p", "--continue", "-x"], ON),
    ("claude-code", True): (["claude", "do it", "-x"], "", ["claude", "--continue", "-x"], ""),
    ("codex", False): (
        ["codex", "exec", "--skip-git-repo-check", "-x", "-"], "do it",
        ["codex", "exec", "--skip-git-repo-check", "-x", "resume", "--last", "-"], ON,
    ),
    ("codex", True): (["codex", "-x", "do it"], "", ["codex", "-x", "resume", "--last"], ""),
    ("gemini-cli", False): (["gemini", "-x"], "do it", ["gemini", "--resume", "latest", "-x"], ON),
    ("gemini-cli", True): (
        ["gemini", "--prompt-interactive=do it", "-x"], "", ["gemini", "--resume", "latest", "-x"], "",
    ),
    ("opencode", False): (
        ["opencode", "run", "-x"], "do it", ["opencode", "run", "--continue", "-x"], ON,
    ),
    ("opencode", True): (["opencode", "--prompt=do it", "-x"], "", ["opencode", "--continue", "-x"], ""),
    ("aider", False): (
        ["aider", "--yes-always", "--message=do it", "-x"], "",
        ["aider", "--yes-always", "--restore-chat-history", f"--message={ON}", "-x"], "",
    ),
    ("aider", True): (["aider", "-x"], "do it\r", ["aider", "--restore-chat-history", "-x"], ""),
    ("custom", False): (["-x"], "do it", ["-x"], ""),
    ("custom", True): (["-x"], "do it\r", ["-x"], ""),
}  # fmt: skip

STATE = {
    "claude-code": {"CLAUDE_CONFIG_DIR": "/workspace/.moorage-state/claude-code"},
    "codex": {"CODEX_HOME": "/workspace/.moorage-state/codex"},
    "gemini-cli": {"GEMINI_CLI_HOME": "/workspace/.moorage-state/gemini-cli"},
    "opencode": {
        "XDG_DATA_HOME": "/workspace/.moorage-state/opencode/data",
        "XDG_STATE_HOME": "/workspace/.moorage-state/opencode/state",
    },
    "aider": {
        "AIDER_CHAT_HISTORY_FILE": "/workspace/.moorage-state/aider/chat.history.md",
        "AIDER_INPUT_HISTORY_FILE": "/workspace/.moorage-state/aider/input.history",
    },
    "custom": {"HOME": "/workspace/.moorage-state/custom"},
}


def test_these_six_come_along() -> None:
    assert Presets().names() == SHIPPED
    assert {name for name, _ in WAYS} == set(STATE) == set(SHIPPED)


@pytest.mark.parametrize(("name", "tty"), WAYS)
def test_what_runs_first_and_what_runs_again(name: str, tty: bool) -> None:
    made = applied(Presets().get(name), args=["-x"], prompt="do it", tty=tty)
    assert (list(made.argv), made.input, list(made.resume_argv), made.resume_input) == WAYS[name, tty]


@pytest.mark.parametrize("name", SHIPPED)
def test_what_it_keeps_lies_in_the_workspace(name: str) -> None:
    made = applied(Presets().get(name), args=["x"], prompt="do it")
    assert (made.env, made.state_dirs) == (STATE[name], (name,))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_preset_says_where_its_facts_are_from_and_when(name: str) -> None:
    text = (resources.files("moorage.presets") / f"{name}.toml").read_text()
    remarks = [line for line in text.splitlines() if line.startswith("#")]
    assert any("on 2026-" in line or line.startswith("# 2026-") for line in remarks)
    assert name == "custom" or sum("project " in line for line in remarks) >= 1
