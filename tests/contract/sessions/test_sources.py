"""What fills a workspace arrives as it stood here, pinned to a commit, and without anybody's password."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from testcluster.objects import claim
from testcluster.testrun import RealCluster

from .commands import Moorage
from .conftest import Template
from .gitserver import git, repository, serve
from .verdicts import OWN_FAILURE, objects, told

pytestmark = pytest.mark.node
LIST = [
    "sh",
    "-c",
    "find . -path ./.git -prune -o ! -name '.moorage*' -print | sort; cat .git/HEAD 2>/dev/null || true",
]
PASSWORD = "planted-9f3c-password"


def filled(moorage: Moorage, template: Template, source: str | Path, *flags: str, command: list[str]) -> str:
    """Output of a command in a workspace that was filled from ``source``."""
    args = ("--name", "filled", "--workspace", "empty_dir", "--source", source, *flags)
    return moorage(*moorage.run_args(*args, template=template(), command=command)).out.decode()


def test_a_local_repository_comes_with_all_that_is_not_committed_yet(
    moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", same="1", changed="1", deleted="1", renamed="1", unstaged="1")
    for folder in ("was-folder", "was-link"):
        (repo / folder).mkdir()
        (repo / folder / "in").write_text("1")
    (repo / "was-file").write_text("1")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "second")
    commit = git(repo, "rev-parse", "HEAD")
    shutil.rmtree(repo / "was-folder")
    (repo / "was-folder").write_text("file")
    shutil.rmtree(repo / "was-link")
    (repo / "was-link").symlink_to("was-file")
    (repo / "was-file").unlink()
    (repo / "was-file").mkdir()
    (repo / "was-file/in").write_text("folder")
    (repo / ".gitignore").write_text("ignored\n")
    (repo / "ignored").write_text("secret")
    (repo / "changed").write_text("2")
    (repo / "deleted").unlink()
    git(repo, "mv", "renamed", "moved")
    (repo / "staged").write_text("2")
    git(repo, "add", "staged")
    git(repo, "rm", "-q", "--cached", "unstaged")
    (repo / "deep/er").mkdir(parents=True)
    (repo / "deep/er/untracked run.sh").write_text("#!/bin/sh\necho runs\n")
    (repo / "deep/er/untracked run.sh").chmod(0o755)
    (repo / "link").symlink_to("changed")
    (repo / "broken").symlink_to("/nowhere/at/all")

    look = (
        "ls -A | grep -v .moorage | tr '\\n' ' '; echo;"
        "cat same changed staged moved link was-folder was-file/in was-link/in; echo;"
        "readlink broken; 'deep/er/untracked run.sh'; cat .git/refs/heads/main"
    )
    lines = filled(moorage, template, repo, command=["sh", "-c", look]).splitlines()
    assert lines[0].split() == [
        ".git",
        ".gitignore",
        "broken",
        "changed",
        "deep",
        "link",
        "moved",
        "same",
        "staged",
        "unstaged",
        "was-file",
        "was-folder",
        "was-link",
    ]
    assert lines[1:] == ["12212filefolderfolder", "/nowhere/at/all", "runs", commit]

    shown = moorage.session("filled")["source"]
    assert (shown["kind"], shown["commit"], shown["location"]) == ("path", commit, str(repo))


def plain(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a").write_text("a")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    return folder


def empty_repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "new").write_text("n")
    return folder


def subdirectory(folder: Path) -> Path:
    repo = repository(folder, top="t")
    (repo / "part").mkdir()
    (repo / "part/inner").write_text("i")
    return repo / "part"


def empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


TREES: dict[str, tuple[Callable[[Path], Path], list[str]]] = {
    "plain directory": (plain, [".", "./a", "./run"]),
    "empty directory": (empty, ["."]),
    "repository without a commit": (empty_repository, [".", "./new", "ref: refs/heads/main"]),
    "directory inside a repository": (subdirectory, [".", "./inner"]),
}


@pytest.mark.parametrize(("make", "expected"), TREES.values(), ids=[key.replace(" ", "-") for key in TREES])
def test_other_local_sources_arrive_as_they_are(
    moorage: Moorage,
    template: Template,
    tmp_path: Path,
    make: Callable[[Path], Path],
    expected: list[str],
) -> None:
    assert filled(moorage, template, make(tmp_path / "tree"), command=LIST).splitlines() == expected
    assert moorage.session("filled")["source"]["commit"] == ""


@pytest.mark.parametrize("ref", ["v1", "side", ""], ids=["tag", "branch", "default"])
def test_a_url_is_pinned_to_the_commit_of_its_ref(
    moorage: Moorage, template: Template, tmp_path: Path, ref: str
) -> None:
    repo = repository(tmp_path / "repo", f="one")
    git(repo, "tag", "v1")
    git(repo, "checkout", "-q", "-b", "side")
    (repo / "f").write_text("side")
    git(repo, "commit", "-q", "-a", "-m", "side")
    git(repo, "checkout", "-q", "main")
    (repo / "f").write_text("two")
    git(repo, "commit", "-q", "-a", "-m", "two")
    commits = {name: git(repo, "rev-parse", name or "main") for name in ("v1", "side", "")}

    flags = ("--source-ref", ref) if ref else ()
    out = filled(moorage, template, f"file://{repo}", *flags, command=["cat", "f"])
    assert out == {"v1": "one", "side": "side", "": "two"}[ref]
    shown = moorage.session("filled")["source"]
    assert (shown["kind"], shown["ref"], shown["commit"]) == ("url", ref, commits[ref])
    assert commits[ref] in moorage("describe", "filled").out.decode()


REFUSED: dict[str, tuple[str, tuple[str, ...], int, str]] = {
    "a path that is not there": ("{tmp}/absent", (), OWN_FAILURE, "does not exist"),
    "a file": ("{tmp}/file", (), 2, "is not a directory"),
    "a ref of a plain directory": ("{tmp}/tree", ("--source-ref", "v1"), 2, "is not a git repository"),
    "a ref that is not there": ("{tmp}/repo", ("--source-ref", "v9"), OWN_FAILURE, "v9"),
    "a ref that is an option": ("{tmp}/repo", ("--source-ref=--upload-pack=x",), 2, "not a branch"),
    "a URL without a repository": ("file://{tmp}/absent", (), OWN_FAILURE, "absent"),
    "a scheme that runs commands": ("ext::sh -c true", (), 2, "not supported"),
}


@pytest.mark.parametrize(
    ("source", "flags", "code", "words"), REFUSED.values(), ids=[key.replace(" ", "-") for key in REFUSED]
)
def test_a_source_that_cannot_be_read_is_refused_before_anything_is_made(
    moorage: Moorage,
    template: Template,
    kubectl: Callable[..., str],
    namespace: str,
    tmp_path: Path,
    source: str,
    flags: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    (tmp_path / "file").write_text("")
    plain(tmp_path / "tree")
    repository(tmp_path / "repo", f="1")
    args = ("--source", source.format(tmp=tmp_path), *flags)
    done = moorage(*moorage.run_args(*args, template=template(), command=["true"]), code=code)
    assert words in done.err
    assert "hint:" in done.err
    assert objects(kubectl, namespace) == ""
    assert moorage("ls", "-o", "json").json()["items"] == []
    assert leftovers(moorage) == []


def leftovers(moorage: Moorage) -> list[str]:
    """What was cloned or packed and is still on this machine."""
    return [str(path) for path in (moorage.data_dir / "sources").glob("*")]


def test_work_in_a_claim_is_never_overwritten_by_a_source(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str, tmp_path: Path
) -> None:
    cluster.apply(claim(namespace, "work", "standard"))
    write = ["sh", "-c", "echo precious > /workspace/f"]
    moorage(*moorage.run_args("--name", "first", "--claim", "work", template=template(), command=write))
    moorage("rm", "-y", "first")

    repo = repository(tmp_path / "repo", f="from git")
    args = ("--name", "second", "--claim", "work", "--source", repo)
    done = moorage(*moorage.run_args(*args, template=template(), command=["cat", "f"]), code=OWN_FAILURE)
    told(done, "source", "the workspace holds other content: f", "--source")
    moorage("rm", "-y", "second")

    third = ("--name", "third", "--claim", "work")
    kept = moorage(*moorage.run_args(*third, template=template(), command=["cat", "/workspace/f"]))
    assert kept.out == b"precious\n"


def test_a_filled_claim_keeps_its_work_over_pause_and_resume(
    moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", f="1\n")
    args = ("--name", "kept", "--source", repo)
    moorage(*moorage.run_args(*args, template=template(), command=["sh", "-c", "echo more >> f; cat f"]))
    (repo / "f").write_text("changed here since")
    moorage("pause", "kept")
    moorage("resume", "kept")
    moorage("attach", "kept")
    assert moorage("logs", "kept").out == b"1\nmore\n1\nmore\nmore\n"
    assert leftovers(moorage) == []


def bare(tmp_path: Path) -> Path:
    """A folder with repo.git in it, ready to be served as plain files."""
    repo = repository(tmp_path / "repo", f="served\n")
    served = tmp_path / "served"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(served / "repo.git"))
    git(served / "repo.git", "update-server-info")
    return served


def test_the_password_of_a_url_is_used_and_kept_nowhere(
    moorage: Moorage,
    template: Template,
    kubectl: Callable[..., str],
    namespace: str,
    tmp_path: Path,
) -> None:
    with serve(bare(tmp_path), PASSWORD) as served:
        url = served.url.replace("://", f"://me:{PASSWORD}@") + "/repo.git"
        started = moorage.start(
            *moorage.run_args(
                *("--name", "filled", "--workspace", "empty_dir", "--source", url),
                template=template(),
                command=["cat", "f", ".git/config"],
            )
        )
        done = started.end()
    assert done.code == 0, done.err
    assert done.out.startswith(b"served\n")
    assert f"url = {served.url}/repo.git" in done.out.decode()
    # Our own argv holds what its caller typed; no child of ours may repeat it.
    others = [line for line in served.commands if b"moorage" not in line.split(b"\0")]
    assert [line for line in others if PASSWORD.encode() in line] == []
    assert any(b"git" in line for line in others)

    shown = moorage("describe", "filled", "-o", "json").out + moorage("events", "filled").out
    everything = done.err + shown.decode() + kubectl("-n", namespace, "get", "pods,events", "-o", "yaml")
    assert PASSWORD not in everything
    assert holding(moorage.home, PASSWORD) == []


def test_a_password_that_is_refused_does_not_stand_in_the_error(
    moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    with serve(bare(tmp_path), "another") as served:
        url = served.url.replace("://", f"://me:{PASSWORD}@") + "/repo.git"
        args = moorage.run_args("-vv", "--source", url, template=template(), command=["true"])
        done = moorage(*args, code=OWN_FAILURE)
    assert served.refused
    assert "Authentication failed" in done.err
    assert PASSWORD not in done.err
    assert holding(moorage.home, PASSWORD) == []
    assert leftovers(moorage) == []


def holding(folder: Path, text: str) -> list[str]:
    """Files below the folder that hold the text."""
    found: list[Any] = []
    for top, _, names in os.walk(folder):
        found += [path for name in names if text.encode() in (path := Path(top, name)).read_bytes()]
    return [str(path) for path in found]
