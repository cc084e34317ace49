"""Agents by name, played by stand-ins of those names: each is told its prompt once, keeps its conversation
where the real one does, and finds it again on another Pod; nothing of it is a change of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.core.owned import STATE_FOLDER
from moorage.core.presets import Applied, applied
from moorage.presets import Presets

from .commands import Moorage
from .conftest import Template
from .gitserver import git, repository

pytestmark = pytest.mark.node

PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini", "opencode": "opencode"}
PROGRAMS |= {"aider": "aider", "custom": "my-agent"}
PATH = "PATH=/workspace/bin:/usr/local/bin:/usr/bin:/bin"

# Its conversation is a line for each call: its words, and what it read to the end of its input.
STAND_IN = """\
#!/bin/sh
case ${0##*/} in
  claude) talk=$CLAUDE_CONFIG_DIR/projects/talk ;;
  codex) [ -d "$CODEX_HOME" ] || exit 9; talk=$CODEX_HOME/talk ;;
  gemini) talk=$GEMINI_CLI_HOME/.gemini/talk ;;
  opencode) talk=$XDG_DATA_HOME/opencode/talk ;;
  aider) talk=$AIDER_CHAT_HISTORY_FILE; touch .aider.tags.cache.v4 ;;
  *) talk=$HOME/talk ;;
esac
mkdir -p "${talk%/*}"
{ for word; do printf '<%s>' "$word"; done; cat; echo .; } >> "$talk"
echo "knows:"; cat "$talk"
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository that brings the stand-ins along."""
    repo = repository(tmp_path / "repo", top="t\n")
    (repo / "bin").mkdir()
    for name in PROGRAMS.values():
        (repo / "bin" / name).write_text(STAND_IN)
        (repo / "bin" / name).chmod(0o755)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "stand-ins")
    return repo


def lines(made: Applied) -> tuple[str, str]:
    """What the first call and the next leave of themselves."""
    first = "".join(f"<{word}>" for word in made.argv[1:]) + made.input + ".\n"
    return first, "".join(f"<{word}>" for word in made.resume_argv[1:]) + made.resume_input + ".\n"


def pods(moorage: Moorage) -> dict[str, str]:
    """UID of each session's Pod."""
    return {one["name"]: one["pod"]["uid"] for one in moorage("ls", "-o", "json").json()["items"]}


def test_each_agent_is_told_its_prompt_once_and_finds_its_conversation_on_another_pod(
    moorage: Moorage, template: Template, repo: Path, tmp_path: Path
) -> None:
    flags = ["--template", str(template()), *moorage.place(), "-e", PATH, "--prompt", "mend it"]
    words = {name: ["my-agent", "-x"] if name == "custom" else ["-x"] for name in PROGRAMS}
    told = {
        name: lines(applied(Presets().get(name), args=words[name], prompt="mend it")) for name in PROGRAMS
    }
    started = {
        name: moorage.start("run", name, repo, "--name", name, *flags, "--", *words[name])
        for name in PROGRAMS
    }
    for name, run in started.items():
        assert (run.end().code, run.out.decode()) == (0, f"knows:\n{told[name][0]}"), run.err
    before = pods(moorage)

    moorage("pause", *PROGRAMS)
    moorage("resume", *PROGRAMS)
    moorage("wait", *PROGRAMS, "--for", "exited")
    after = pods(moorage)
    for name in PROGRAMS:
        assert after[name] not in ("", before[name])
        said = moorage("logs", name).out.decode()
        assert said == f"knows:\n{told[name][0]}knows:\n{''.join(told[name])}"
    for name in ("claude-code", "aider"):  # one keeps all in its folder, one leaves a file beside it
        moorage("cp", f"{name}:/workspace", tmp_path / name)
        assert not (tmp_path / name / STATE_FOLDER).exists()  # a sign-in may lie there: only by its name
        moorage("cp", f"{name}:/workspace/{STATE_FOLDER}", tmp_path / name / STATE_FOLDER)
        assert (tmp_path / name / STATE_FOLDER / name).is_dir()
        assert git(tmp_path / name, "status", "--porcelain") == ""


def test_a_prompt_is_typed_into_an_agents_terminal(moorage: Moorage, template: Template) -> None:
    agent = 'stty -echo; echo ready; read -r line; echo "got $line"'
    flags = [
        "--template",
        str(template()),
        *moorage.place(),
        "--workspace",
        "empty_dir",
        "--prompt",
        "mend it",
    ]
    done = moorage("run", "custom", "-t", *flags, "--", "sh", "-c", agent)
    assert done.out == b"ready\r\ngot mend it\r\n"
