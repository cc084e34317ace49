"""What a session changed, against the commit it was given; and taken home as a patch or a branch."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.core.errors import Conflict, HelperError, NotFound, UsageError
from moorage.engine import checkout, comparison
from moorage.engine.tree_tar import Packed, write_tar
from moorage.ports.changes import Changes
from moorage.ports.forks import ForkRequest

from .stage import Stage
from .test_git_sources import git, repository

__all__ = ["repository"]

Edit = Callable[[Path], None]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


async def begun(stage: Stage, source: Path | str, work: Path) -> None:
    """A session at rest; ``work`` is its workspace on this side."""
    await stage.running(source=str(source))
    await stage.verbs.stop("calm-cove", stage.said.append)
    with tarfile.open(fileobj=io.BytesIO(stage.agent.workspace)) as tar:
        tar.extractall(work, filter="tar")


async def changed(stage: Stage, work: Path) -> Changes:
    sent(stage, work)
    return await stage.verbs.changes("calm-cove", stage.said.append)


def sent(stage: Stage, work: Path) -> None:
    """What is in ``work`` now is what the Pod has."""
    target = work.with_suffix(".tar")
    write_tar(work, target, Packed())
    stage.agent.workspace = target.read_bytes()


def edit(work: Path) -> None:
    """One of each: changed, new, gone, executable, binary, a link, an ugly name, and what git ignores."""
    (work / "kept.txt").write_text("kept\nand more\n")
    (work / "gone.txt").unlink()
    (work / "deep/er").mkdir(parents=True)
    (work / "deep/er/bytes").write_bytes(bytes(range(256)) * 9)
    (work / "run").write_text("#!/bin/sh\n")
    (work / "run").chmod(0o755)
    (work / "link").symlink_to("../out of/it")
    (work / "a name\twith é").write_text("x\n")
    (work / ".gitignore").write_text("*.log\n")
    (work / "noise.log").write_text("noise\n")
    (work / ".moorage-state").mkdir()
    (work / ".moorage-state/talk").write_text("private\n")


async def test_all_that_differs_is_told_and_nothing_else(stage: Stage, repository: Path, work: Path) -> None:
    await begun(stage, repository, work)
    edit(work)
    found = await changed(stage, work)
    assert found.commit == git(repository, "rev-parse", "HEAD")
    assert {file.path: (file.status, file.added, file.deleted) for file in found.files} == {
        ".gitignore": ("A", 1, 0),
        "a name\twith é": ("A", 1, 0),
        "deep/er/bytes": ("A", None, None),
        "gone.txt": ("D", 0, 1),
        "kept.txt": ("M", 1, 0),
        "link": ("A", 1, 0),
        "run": ("A", 1, 0),
    }


async def test_what_the_agent_committed_is_a_change_too(stage: Stage, repository: Path, work: Path) -> None:
    await begun(stage, repository, work)
    (work / "new.txt").write_text("new\n")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "the agent's")
    assert [file.path for file in (await changed(stage, work)).files] == ["new.txt"]


async def test_a_session_that_changed_nothing_says_so(stage: Stage, repository: Path, work: Path) -> None:
    await begun(stage, repository, work)
    found = await changed(stage, work)
    assert (found.files, found.patch) == ((), b"")
    with pytest.raises(Conflict, match="has changed nothing"):
        await stage.verbs.export_branch("calm-cove", "work", stage.said.append)


async def test_git_takes_the_patch_onto_the_commit(
    stage: Stage, repository: Path, work: Path, tmp_path: Path
) -> None:
    await begun(stage, repository, work)
    edit(work)
    patch = tmp_path / "patch"
    patch.write_bytes((await changed(stage, work)).patch)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    git(clone, "apply", str(patch))
    shutil.rmtree(work / ".moorage-state")
    (work / "noise.log").unlink()
    assert picture(clone) == picture(work)


async def test_a_branch_holds_it_and_the_work_tree_at_home_is_as_it_was(
    stage: Stage, repository: Path, work: Path, tmp_path: Path
) -> None:
    await begun(stage, repository, work)
    (repository / "kept.txt").write_text("what a person is just writing\n")
    git(repository, "add", "kept.txt")
    before = (
        picture(repository),
        git(repository, "status", "--porcelain"),
        git(repository, "symbolic-ref", "HEAD"),
    )
    edit(work)
    sent(stage, work)
    made = await stage.verbs.export_branch("calm-cove", "agents/work", stage.said.append)
    after = (
        picture(repository),
        git(repository, "status", "--porcelain"),
        git(repository, "symbolic-ref", "HEAD"),
    )
    assert after == before
    assert git(repository, "rev-parse", "agents/work") == made.commit
    assert git(repository, "rev-list", "--parents", "-1", "agents/work") == f"{made.commit} {made.base}"
    git(repository, "fsck", "--strict")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-b", "agents/work", str(repository), str(clone))
    shutil.rmtree(work / ".moorage-state")
    (work / "noise.log").unlink()
    assert picture(clone) == picture(work)


@pytest.mark.parametrize(
    ("branch", "error"),
    [("main", Conflict), ("a b", UsageError), ("-x", UsageError), ("HEAD", UsageError), ("", UsageError)],
)
async def test_a_branch_that_is_there_or_cannot_be_is_refused(
    stage: Stage, repository: Path, work: Path, branch: str, error: type[Exception]
) -> None:
    await begun(stage, repository, work)
    edit(work)
    sent(stage, work)
    before = git(repository, "for-each-ref")
    with pytest.raises(error):
        await stage.verbs.export_branch("calm-cove", branch, stage.said.append)
    assert git(repository, "for-each-ref") == before


async def test_no_hook_or_driver_of_the_workspace_or_of_home_runs(
    stage: Stage, repository: Path, work: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    await begun(stage, repository, work)
    command = f"touch {trace}; cat"
    for config in (work, repository):
        for key in (
            "filter.f.clean",
            "filter.f.process",
            "diff.f.textconv",
            "diff.f.command",
            "core.fsmonitor",
        ):
            git(config, "config", key, command)
        for hook in ("reference-transaction", "post-index-change", "pre-commit", "post-commit"):
            path = config / ".git/hooks" / hook
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\ntouch {trace}\n")
            path.chmod(0o755)
    (work / ".gitattributes").write_text("* filter=f diff=f\n")
    (work / "kept.txt").write_text("changed\n")
    await changed(stage, work)
    await stage.verbs.export_branch("calm-cove", "work", stage.said.append)
    assert not trace.exists()


async def test_the_configuration_of_this_machine_does_not_shape_the_patch(
    stage: Stage, repository: Path, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even its filters, for files that a Pod has chosen."""
    await begun(stage, repository, work)
    edit(work)
    (work / ".gitattributes").write_text("* filter=ours diff=ours\n")
    plain = (await changed(stage, work)).patch
    config = tmp_path / "gitconfig"
    config.write_text(
        "[diff]\nnoprefix = true\n[core]\nautocrlf = true\nexcludesFile = x\n"
        '[filter "ours"]\nclean = tr a-z A-Z\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert (await changed(stage, work)).patch == plain


async def test_an_archive_that_writes_through_its_own_link_writes_nothing(
    stage: Stage, repository: Path, work: Path, tmp_path: Path
) -> None:
    await begun(stage, repository, work)
    (tmp_path / "outside").mkdir()
    stage.agent.workspace = tar_of(("way", "l", str(tmp_path / "outside")), ("way/in", "f", "x"))
    with pytest.raises(HelperError) as refused:
        await stage.verbs.changes("calm-cove", stage.said.append)
    assert refused.value.details["code"] == "hostile"
    stage.agent.workspace = tar_of(("way", "l", str(tmp_path / "outside")), ("way/in", "l", "x"))
    with pytest.raises(HelperError):
        await stage.verbs.changes("calm-cove", stage.said.append)
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../out", "/out", "a/../../out", ".git/config", "sub/.GIT/hooks/pre-commit"]
)
async def test_names_that_lead_out_or_into_git_make_no_file(
    stage: Stage, repository: Path, work: Path, name: str
) -> None:
    await begun(stage, repository, work)
    stage.agent.workspace = tar_of(("kept.txt", "f", "kept\n"), ("gone.txt", "f", "gone\n"), (name, "f", "x"))
    try:
        found = await stage.verbs.changes("calm-cove", stage.said.append)
    except HelperError as error:
        assert error.details["code"] == "hostile"  # noqa: PT017
    else:
        assert found.files == ()


def tar_of(*members: tuple[str, str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            if kind == "l":
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content.encode()))
    return packed.getvalue()


async def test_a_workspace_that_is_too_large_is_refused(
    stage: Stage, repository: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begun(stage, repository, work)
    edit(work)
    monkeypatch.setattr(comparison, "PATCH_LIMIT", 100)
    with pytest.raises(HelperError, match="make a patch of") as large:
        await changed(stage, work)
    assert "--branch" in large.value.hint
    monkeypatch.setattr(checkout.checkout, "__kwdefaults__", {"limit": 100})
    with pytest.raises(HelperError, match="is not compared"):
        await changed(stage, work)


async def test_a_url_needs_no_server_any_more(
    stage: Stage, repository: Path, work: Path, tmp_path: Path
) -> None:
    served = tmp_path / "served"
    shutil.copytree(repository, served)
    await begun(stage, f"file://{served}", work)
    shutil.rmtree(served)
    (work / "kept.txt").write_text("changed\n")
    assert [file.path for file in (await changed(stage, work)).files] == ["kept.txt"]
    with pytest.raises(UsageError, match="no repository on this machine") as refused:
        await stage.verbs.export_branch("calm-cove", "work", stage.said.append)
    assert "--patch" in refused.value.hint


async def test_what_was_kept_of_a_url_goes_with_the_session(
    stage: Stage, repository: Path, work: Path, tmp_path: Path
) -> None:
    await begun(stage, f"file://{repository}", work)
    assert [path.suffix for path in (tmp_path / "sources").iterdir()] == [".base"]
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert list((tmp_path / "sources").iterdir()) == []


@pytest.mark.parametrize("form", ["{}", "file://{}"])
async def test_a_fork_is_compared_with_the_commit_that_the_first_was_given(
    stage: Stage, repository: Path, work: Path, form: str
) -> None:
    await begun(stage, form.format(repository), work)
    (work / "kept.txt").write_text("changed\n")
    sent(stage, work)
    (fork,) = await stage.verbs.fork("calm-cove", ForkRequest(), stage.said.append)
    await stage.verbs.remove("calm-cove", stage.said.append)
    await stage.verbs.resume(fork.name, stage.said.append)
    found = await stage.verbs.changes(fork.name, stage.said.append)
    assert [file.path for file in found.files] == ["kept.txt"]
    assert found.repository == form.format(repository)


async def test_without_a_commit_there_is_nothing_to_compare_with(stage: Stage, tmp_path: Path) -> None:
    await stage.running()
    with pytest.raises(UsageError, match="did not start from a commit") as refused:
        await stage.verbs.changes("calm-cove", stage.said.append)
    assert "moorage cp calm-cove:/workspace" in refused.value.hint


async def test_a_paused_session_has_no_files_to_read_and_the_hint_brings_them_back(
    stage: Stage, repository: Path, work: Path
) -> None:
    await begun(stage, repository, work)
    await stage.verbs.pause("calm-cove", stage.said.append)
    with pytest.raises(Conflict, match="no Pod to read") as refused:
        await stage.verbs.changes("calm-cove", stage.said.append)
    assert "moorage resume calm-cove && moorage stop calm-cove" in refused.value.hint


async def test_a_repository_that_is_gone_is_told(stage: Stage, repository: Path, work: Path) -> None:
    await begun(stage, repository, work)
    shutil.rmtree(repository)
    with pytest.raises(NotFound, match="no git repository"):
        await stage.verbs.changes("calm-cove", stage.said.append)


async def test_a_commit_that_is_gone_is_told(stage: Stage, repository: Path, work: Path) -> None:
    await begun(stage, repository, work)
    shutil.rmtree(repository / ".git")
    git(repository, "init", "-q")
    with pytest.raises(NotFound, match="is not in the repository any more"):
        await stage.verbs.changes("calm-cove", stage.said.append)


def picture(tree: Path) -> dict[str, tuple[bool, bytes]]:
    """Executable, and content or target, of all but git's own files."""
    found = {}
    for path in sorted(tree.rglob("*")):
        if ".git" in path.relative_to(tree).parts or (path.is_dir() and not path.is_symlink()):
            continue
        content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        runs = not path.is_symlink() and bool(path.stat().st_mode & 0o100)
        found[str(path.relative_to(tree))] = (runs, content)
    return found
