"""Completion: a shell is offered what fits, from this machine alone, and nothing it asks can fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from moorage.cli.app import root_command, run_cli
from moorage.cli.suggesting import ARGUMENTS, OPTIONS, Suggesting
from moorage.cli.terminal import Terminal
from moorage.cli.verbs import VERBS
from moorage.core.session import Phase, State
from moorage.main import Composition
from moorage.store import open_store
from tests.cli.harness import Cli
from tests.cli.scripted_views import make_session, make_view


def offered(cli: Cli, monkeypatch: pytest.MonkeyPatch, typed: str) -> list[str]:
    """What bash is told for a command line whose last word is being typed, as ``TYPE,VALUE``."""
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split(" ")) - 1))
    cli.wiring.environ = {**os.environ, "_MOORAGE_COMPLETE": "bash_complete"}
    result = cli()
    assert (result.code, result.err, cli.verbs.calls) == (0, "", [])
    return result.text.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_names_the_program_and_asks_nobody(cli: Cli, shell: str) -> None:
    result = cli("completion", shell)
    assert result.code == 0
    assert f"_MOORAGE_COMPLETE={shell}_complete" in result.text
    assert cli.verbs.calls == []


@pytest.mark.parametrize(
    ("typed", "words", "kept_out"),
    [
        ("moorage ", {"run", "ls", "template"}, {"check"}),
        ("moorage r", {"run", "rm", "resume", "reset"}, {"ls"}),
        ("moorage run --work", {"--workspace", "--workspace-size"}, {"--template"}),
        ("moorage ls -o ", {"json", "yaml", "name"}, {""}),
        ("moorage template ", {"check"}, {"run"}),
        ("moorage completion ", {"bash", "zsh", "fish"}, {"run"}),
        ("moorage help ", {"run", "template"}, {"check"}),
        ("moorage help template ", {"check"}, {"run"}),
        ("moorage run --workspace ", {"managed_pvc", "existing_claim", "empty_dir"}, set()),
        ("moorage run --helper ", {"exec", "image"}, set()),
        ("moorage run --platform linux/a", {"linux/amd64", "linux/arm64"}, set()),
        ("moorage run --transport p", {"portforward"}, {"exec"}),
        ("moorage run --access-mode ReadWriteO", {"ReadWriteOnce"}, {"ReadWriteMany"}),
        ("moorage template check --workspace e", {"existing_claim", "empty_dir"}, {"managed_pvc"}),
        ("moorage ls --state P", {"Paused"}, {"Running"}),
        ("moorage ls --sort-by ", {"name", "age", "status"}, set()),
        ("moorage --context ", {"kind-dev", "prod"}, set()),
        ("moorage run --context k", {"kind-dev"}, {"prod"}),
        ("moorage --kubeconfig other- ls --context ", {"other-kind-dev"}, {"kind-dev"}),
        ("moorage stop b", {"brisk-otter"}, {"calm-heron"}),
        ("moorage stop brisk-otter ", {"calm-heron"}, {"brisk-otter", "old-raven"}),
        ("moorage resume o", set(), {"old-raven"}),
        ("moorage logs o", {"old-raven"}, set()),
        ("moorage rm -y o", {"old-raven"}, set()),
        ("moorage exec c", {"calm-heron"}, set()),
        ("moorage cp br", {"brisk-otter:"}, {"br"}),
        ("moorage cp ./a ca", {"calm-heron:"}, set()),
        ("moorage run --name b", set(), {"brisk-otter"}),
        ("moorage run c", {"claude-code", "codex", "custom"}, {"aider"}),
        ("moorage preset show c", {"codex"}, {"aider"}),
    ],
)
def test_completion_offers_what_fits_and_nothing_else(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, typed: str, words: set[str], kept_out: set[str]
) -> None:
    gone = State(phase=Phase.ARCHIVED, since=1.0)
    cli.verbs.views = [make_view("brisk-otter"), make_view("calm-heron"), make_view("old-raven", state=gone)]
    found = {line.partition(",")[2] for line in offered(cli, monkeypatch, typed)}
    assert words <= found
    assert found.isdisjoint(kept_out)


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        ("moorage run --template p", "file"),
        ("moorage run --env-file p", "file"),
        ("moorage run --source p", "dir"),
        ("moorage --kubeconfig p", "file"),
        ("moorage ls --data-dir p", "dir"),
        ("moorage template check p", "file"),
        ("moorage cp p", "file"),
        ("moorage run codex p", "dir"),
        ("moorage run --prompt-file p", "file"),
    ],
)
def test_paths_are_left_to_the_shell(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, typed: str, kind: str
) -> None:
    assert offered(cli, monkeypatch, typed) == [f"{kind},p"]


def test_every_suggestion_belongs_to_a_parameter_and_every_session_argument_has_one() -> None:
    root = root_command()
    context = click.Context(root)
    leaves = [root.get_command(context, name) for name in VERBS]
    leaves += [inner for leaf in leaves if isinstance(leaf, click.Group) for inner in leaf.commands.values()]
    params = [param for leaf in leaves if leaf for param in leaf.get_params(context)]
    options = {param.name for param in params if isinstance(param, click.Option)}
    arguments = {param.name for param in params if isinstance(param, click.Argument)}
    assert set(OPTIONS) <= options
    assert set(ARGUMENTS) <= arguments
    named = [param for param in params if param.metavar in ("NAME…", "FILE", "MODE", "HOW", "SHELL")]
    assert [param.name for param in named if not isinstance(param.type, Suggesting)] == []


async def test_names_come_from_the_store_newest_first_without_a_cluster(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "data")
    for at, name in enumerate(("first-one", "later-one")):
        await store.sessions.add(make_session(name, created_at=float(at)))
    await store.close()
    wiring = Composition({"MOORAGE_DATA_DIR": str(tmp_path / "data"), "MOORAGE_CONFIG_DIR": str(tmp_path)})
    assert wiring.session_names("", archived=False) == ["later-one", "first-one"]
    assert wiring.session_names(str(tmp_path), archived=True) == []


@pytest.mark.parametrize("content", [None, b"", b"no database at all" * 100])
def test_a_store_that_is_not_there_or_broken_offers_nothing_and_is_not_made(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "data" / "moorage.db"
    if content is not None:
        file.parent.mkdir()
        file.write_bytes(content)
    wiring = Composition({"MOORAGE_DATA_DIR": str(tmp_path / "data"), "MOORAGE_CONFIG_DIR": str(tmp_path)})
    assert wiring.session_names("", archived=True) == []
    assert file.exists() == (content is not None)


def test_settings_with_a_fault_complete_to_nothing_in_silence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text("nonsense = [")
    monkeypatch.setenv("COMP_WORDS", "moorage stop ")
    monkeypatch.setenv("COMP_CWORD", "2")
    environ = {"MOORAGE_CONFIG_DIR": str(tmp_path), "_MOORAGE_COMPLETE": "bash_complete"}
    assert run_cli([], Composition(environ)) == 0
    assert capfd.readouterr() == ("\n", "")


HEAVY = "import sys; from moorage.main import Composition as C; c = C({}); "


@pytest.mark.parametrize(
    "question", ["c.session_names('/nowhere', archived=True)", "c.context_names('/nowhere')"]
)
def test_names_are_found_without_the_adapters(question: str) -> None:
    script = HEAVY + question + "; print(*{n.partition('.')[0] for n in sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint(
        {"sqlalchemy", "alembic", "aiohttp", "cryptography", "msgspec"}
    )


BASH = """
eval "$(moorage completion bash)"
COMP_WORDS=(moorage stop "")
COMP_CWORD=2
_moorage_completion moorage
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
async def store_with_a_session(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "data")
    await store.sessions.add(make_session("brisk-otter"))
    await store.close()


@pytest.mark.program("bash")
@pytest.mark.usefixtures("store_with_a_session")
def test_bash_itself_completes_a_session(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {"PATH": path, "HOME": str(tmp_path), "MOORAGE_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(["bash", "-c", BASH], capture_output=True, text=True, env=environ, check=False)
    assert (done.stdout, done.stderr) == ("brisk-otter\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_on_a_terminal_it_is_said_how_to_use_a_script(
    cli: Cli, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("completion", shell).err == ""
    monkeypatch.setattr(Terminal, "stdout_tty", True)
    result = cli("completion", shell)
    assert result.err.startswith("to use it: ")
    assert f"moorage completion {shell}" in result.err
