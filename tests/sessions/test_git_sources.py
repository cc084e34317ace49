"""Sources are made here, from git: no credential and no foreign code goes where it has no business."""

from __future__ import annotations

import os
import stat
import subprocess
import tarfile
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from moorage.core.errors import MoorageError, UsageError
from moorage.core.session import SourceSpec
from moorage.engine.git import clone, exclude_ours, set_origin
from moorage.engine.sources import Sources

SPY = """#!/bin/sh
{{ printf '%s\\n' "$@"; }} >> {log}.argv
env >> {log}.env
exec {git} "$@"
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit and a hook that would leave a trace."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    (path / "kept.txt").write_text("kept\n")
    (path / "gone.txt").write_text("gone\n")
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "first")
    return path


def git(where: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@t.test", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Notes the words and the environment of every git command; returns the prefix of the two files."""
    real = subprocess.run(["sh", "-c", "command -v git"], check=True, capture_output=True, text=True).stdout
    folder, log = tmp_path / "bin", tmp_path / "seen"
    folder.mkdir()
    (folder / "git").write_text(SPY.format(log=log, git=real.strip()))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return log


async def prepared(
    spool: Path, location: str, ref: str = "", exclude: Collection[str] = ()
) -> tuple[SourceSpec, Path]:
    """The spec and the unpacked tar."""
    sources = Sources(spool)
    spec = await sources.prepare(location, ref, "s1", exclude=exclude)
    out = spool / "out"
    with tarfile.open(spool / "s1.tar") as tar:
        tar.extractall(out, filter="data")
    return spec, out


async def test_a_password_is_in_no_argv_no_record_and_no_file_of_the_clone(
    repository: Path, spy: Path, tmp_path: Path
) -> None:
    spec, out = await prepared(tmp_path / "spool", f"file://user:planted-pw@{repository}")
    assert "planted-pw" not in repr(spec)
    assert "planted-pw" not in Path(f"{spy}.argv").read_text()
    assert "planted-pw" in Path(f"{spy}.env").read_text(), "git got it, by its environment"
    for file in out.rglob("*"):
        assert not file.is_file() or b"planted-pw" not in file.read_bytes(), file
    assert git(out, "remote", "get-url", "origin") == f"file://{repository}"


async def test_a_password_in_the_origin_of_a_local_repository_stays_here(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "remote", "add", "origin", "https://user:planted-pw@git.test/r.git")
    _, out = await prepared(tmp_path / "spool", str(repository))
    assert git(out, "remote", "get-url", "origin") == "https://git.test/r.git"
    assert "planted-pw" not in (out / ".git/config").read_text()


async def test_a_password_does_not_even_reach_the_clone_that_is_packed(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "remote", "add", "origin", "https://user:planted-pw@git.test/r.git")
    await clone(str(repository), tmp_path / "tree")
    await set_origin(repository, tmp_path / "tree")
    assert "planted-pw" not in (tmp_path / "tree/.git/config").read_text()


async def test_hooks_do_not_run_while_a_source_is_made(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    templates, trace = tmp_path / "templates", tmp_path / "trace"
    (templates / "hooks").mkdir(parents=True)
    (templates / "hooks/post-checkout").write_text(f"#!/bin/sh\ntouch {trace}\n")
    (templates / "hooks/post-checkout").chmod(0o755)
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(templates))
    await clone(str(repository), tmp_path / "clone", ref="main")
    assert (tmp_path / "clone/.git/hooks/post-checkout").exists()
    assert not trace.exists()


async def test_commands_of_a_repositorys_own_configuration_do_not_run_while_a_source_is_made(
    repository: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    spy = tmp_path / "command"
    spy.write_text(f"#!/bin/sh\necho $0 $@ >> {trace}\ncat\n")
    spy.chmod(0o755)
    (repository / ".gitattributes").write_text("*.txt filter=x\n*.md filter=a=b\n")
    (repository / "note.md").write_text("note\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "filters")
    for key in (
        "core.fsmonitor",
        "filter.x.clean",
        "filter.x.process",
        "filter.a=b.clean",
        "filter.a=b.smudge",
    ):
        git(repository, "config", key, str(spy))
    git(repository, "config", "filter.x.required", "true")
    # As long as before, and older: git can tell only from what it holds, and that is what it filters.
    changed = {name: (repository / name).read_text().swapcase() for name in ("kept.txt", "note.md")}
    for name, text in changed.items():
        (repository / name).write_text(text)
        os.utime(repository / name, (1, 1))
    _, out = await prepared(tmp_path / "spool", str(repository))
    assert not trace.exists(), trace.read_text()
    assert {name: (out / name).read_text() for name in changed} == changed


async def test_a_transport_that_would_run_a_command_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with pytest.raises(UsageError):
        await prepared(tmp_path / "spool", f"ext::sh -c touch% {trace}")
    with pytest.raises(MoorageError):
        await clone(f"ext::sh -c touch% {trace}", tmp_path / "clone")
    assert not trace.exists()


async def test_a_ref_cannot_be_an_option(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        await clone(str(repository), tmp_path / "clone", ref="--upload-pack=touch")
    assert not (tmp_path / "clone").exists()


async def test_the_commit_is_pinned_and_named_by_content(repository: Path, tmp_path: Path) -> None:
    spec, _ = await prepared(tmp_path / "one", str(repository))
    assert spec.commit == git(repository, "rev-parse", "HEAD")
    assert spec.marker.startswith("sha256:")
    (repository / "kept.txt").write_text("changed\n")
    other, _ = await prepared(tmp_path / "two", str(repository))
    assert (other.commit, other.marker != spec.marker) == (spec.commit, True)


async def test_work_not_committed_yet_comes_along_and_what_is_ignored_does_not(
    repository: Path, tmp_path: Path
) -> None:
    (repository / "kept.txt").write_text("changed\n")
    (repository / "gone.txt").unlink()
    (repository / "new.txt").write_text("new\n")
    (repository / ".gitignore").write_text("ignored.txt\n")
    (repository / "ignored.txt").write_text("secret\n")
    _, out = await prepared(tmp_path / "spool", str(repository))
    assert (out / "kept.txt").read_text() == "changed\n"
    assert (out / "new.txt").read_text() == "new\n"
    assert not (out / "gone.txt").exists()
    assert not (out / "ignored.txt").exists()


async def told(location: Path, spool: Path, ref: str = "") -> list[str]:
    notes: list[str] = []
    await Sources(spool).prepare(str(location), ref, "s1", notes=notes)
    return notes


@pytest.mark.parametrize(
    ("changes", "ref", "notes"),
    [
        ((), "", []),
        (("kept.txt",), "", ["with 1 local change"]),
        (("kept.txt", "new.txt"), "", ["with 2 local changes"]),
        (("kept.txt",), "main", []),
    ],
    ids=["clean", "one", "two", "a ref takes none along"],
)
async def test_a_person_is_told_how_many_local_changes_come_along(
    repository: Path, tmp_path: Path, changes: tuple[str, ...], ref: str, notes: list[str]
) -> None:
    for name in changes:
        (repository / name).write_text("changed\n")
    assert await told(repository, tmp_path / "spool", ref) == notes


async def test_a_person_is_told_that_a_part_of_a_repository_comes_without_git(
    repository: Path, tmp_path: Path
) -> None:
    (repository / "part").mkdir()
    said = f"without git: only a part of the repository {repository}"
    assert await told(repository / "part", tmp_path / "spool") == [said]
    (tmp_path / "plain").mkdir()
    assert await told(tmp_path / "plain", tmp_path / "spool") == []


def as_it_is(repository: Path) -> str:
    return str(repository)


def by_url(repository: Path) -> str:
    return f"file://{repository}"


def as_worktree(repository: Path) -> str:
    """Its .git is a file that points into the repository."""
    git(repository, "worktree", "add", "-q", "-b", "beside", "../beside")
    return str(repository.parent / "beside")


def as_submodule(repository: Path) -> str:
    """As `git submodule add` leaves it; that one is a script and needs sed."""
    place = repository / ".git/modules/sub"
    place.parent.mkdir()
    git(repository, "clone", "-q", f"--separate-git-dir={place}", f"file://{repository}", "sub")
    (repository / "sub/.git").write_text("gitdir: ../.git/modules/sub\n")
    git(place, "config", "core.worktree", "../../../sub")
    git(repository, "config", "-f", ".gitmodules", "submodule.sub.path", "sub")
    git(repository, "config", "-f", ".gitmodules", "submodule.sub.url", f"file://{repository}")
    git(repository, "add", ".gitmodules", "sub")
    assert git(repository, "ls-files", "-s", "sub").startswith("160000")
    return str(repository / "sub")


@pytest.mark.parametrize("location", [as_it_is, by_url, as_worktree, as_submodule])
async def test_what_agentctl_leaves_in_a_clone_is_no_change_of_it(
    repository: Path, tmp_path: Path, location: Callable[[Path], str]
) -> None:
    _, out = await prepared(tmp_path / "spool", location(repository))
    (out / ".moorage-workspace").write_text("sha256:0")
    (out / "folder/.moorage-put-1").mkdir(parents=True)
    (out / "folder/.moorage-put-1/half").write_text("half a copy")
    assert git(out, "status", "--porcelain") == ""
    (out / "own.txt").write_text("the agent's")
    assert git(out, "status", "--porcelain") == "?? own.txt"


@pytest.mark.parametrize("location", [as_it_is, by_url])
async def test_what_an_agent_is_known_to_leave_in_a_tree_is_no_change_of_it(
    repository: Path, tmp_path: Path, location: Callable[[Path], str]
) -> None:
    _, out = await prepared(tmp_path / "spool", location(repository), exclude=[".bot*"])
    (out / ".bot.cache").write_text("")
    (out / ".moorage-state/bot").mkdir(parents=True)
    (out / ".moorage-state/bot/talk").write_text("")
    assert git(out, "status", "--porcelain") == ""


async def test_what_a_persons_template_excludes_stays_excluded_and_unchanged(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "exclude").write_text("*.log")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/info").symlink_to(theirs)
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path / "templates"))
    await clone(str(repository), tmp_path / "clone")
    exclude_ours(tmp_path / "clone")
    (tmp_path / "clone/a.log").write_text("")
    (tmp_path / "clone/.moorage-workspace").write_text("")
    assert git(tmp_path / "clone", "status", "--porcelain") == ""
    assert (theirs / "exclude").read_text() == "*.log"


async def test_what_is_spooled_is_for_its_owner_only(repository: Path, tmp_path: Path) -> None:
    await prepared(tmp_path / "spool", str(repository))
    assert stat.S_IMODE((tmp_path / "spool/s1.tar").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "spool").stat().st_mode) == 0o700


async def test_a_tar_holds_no_owner_no_set_uid_bit_and_no_device(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "tool").write_text("#!/bin/sh\n")
    (tree / "tool").chmod(0o4755)
    os.mkfifo(tree / "pipe")
    left_out: list[str] = []
    os.mknod(tree / "socket", stat.S_IFSOCK | 0o600)
    await Sources(tmp_path / "spool").prepare(str(tree), "", "s1", left_out)
    assert left_out == ["pipe", "socket"]
    with tarfile.open(tmp_path / "spool/s1.tar") as tar:
        (member,) = tar.getmembers()
    assert (member.name, member.mode, member.uid, member.uname) == ("tool", 0o755, 0, "")
