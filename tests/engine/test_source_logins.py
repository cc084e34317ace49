"""Logins that git or its tools wrote into a repository stay here, wherever in a source it stands."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from moorage.engine.git_logins import without_logins
from moorage.engine.sources import Sources

URL = "https://bob:planted-pw@git.test/r.git"


def git(where: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@t.test", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(path: Path, *options: str) -> Path:
    """A repository whose origin is a URL with a login."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main", *options)
    git(path, "remote", "add", "origin", URL)
    return path


async def packed(source: Path, tmp_path: Path) -> tuple[Path, list[str]]:
    """The unpacked tar, and the names of files that are said to be without logins."""
    told: list[str] = []
    await Sources(tmp_path / "spool").prepare(str(source), "", "s1", [], told)
    with tarfile.open(tmp_path / "spool/s1.tar") as tar:
        tar.extractall(tmp_path / "out", filter="data")
    for file in (tmp_path / "out").rglob("*"):
        assert not file.is_file() or b"planted-pw" not in file.read_bytes(), file
    return tmp_path / "out", told


async def test_a_repository_inside_a_source_comes_along_without_its_login(tmp_path: Path) -> None:
    repository(tmp_path / "mono/apps/r")
    out, told = await packed(tmp_path / "mono", tmp_path)
    assert told == ["apps/r/.git/config"]
    assert git(out / "apps/r", "remote", "get-url", "origin") == "https://git.test/r.git"


async def test_a_bare_repository_comes_along_without_its_login(tmp_path: Path) -> None:
    out, told = await packed(repository(tmp_path / "r.git", "--bare"), tmp_path)
    assert told == ["config"]
    assert git(out, "remote", "get-url", "origin") == "https://git.test/r.git"


async def test_modules_and_logs_of_a_repository_come_along_without_logins(tmp_path: Path) -> None:
    outer = repository(tmp_path / "mono/r")
    repository(outer / ".git/modules/lib", "--bare")
    (outer / ".git/logs").mkdir()
    (outer / ".git/logs/HEAD").write_text(f"0 1 t <t@t.test> 1 +0000\tclone: from {URL}\n")
    out, told = await packed(tmp_path / "mono", tmp_path)
    assert told == ["r/.git/config", "r/.git/logs/HEAD", "r/.git/modules/lib/config"]
    assert "t <t@t.test> 1 +0000\tclone: from https://git.test" in (out / "r/.git/logs/HEAD").read_text()


async def test_a_link_of_two_names_to_one_configuration_brings_no_login(tmp_path: Path) -> None:
    inner = repository(tmp_path / "mono/r")
    os.link(inner / ".git/config", inner / ".git/config.worktree")
    _, told = await packed(tmp_path / "mono", tmp_path)
    assert told == ["r/.git/config", "r/.git/config.worktree"]


async def test_a_file_that_is_no_part_of_a_repository_comes_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/config").write_text("url = https://bob:mine@git.test\n")
    out, told = await packed(tmp_path / "tree", tmp_path)
    assert ((out / "config").read_text(), told) == ("url = https://bob:mine@git.test\n", [])


LINES: dict[str, tuple[str, str]] = {
    "a login": ("\turl = https://bob:PW@h/r\n", "\turl = https://h/r\n"),
    "a lone token": ("\turl = https://PW@h/r\n", "\turl = https://h/r\n"),
    "a login with an @": ("\turl = https://bob:P@W@h/r\n", "\turl = https://h/r\n"),
    "a login over two lines": ("\turl = https://bob:\\\nPW@h/r\n", "\turl = https://h/r\n"),
    "a section for a URL": ('[url "https://PW@h/"]\n', '[url "https://h/"]\n'),
    "a header": ("\textraheader = AUTHORIZATION: basic PW\n\ta = b\n", "\t# removed by Moorage\n\ta = b\n"),
    "a header over two lines": (
        "\textraHeader = A: \\\n  PW\n\ta = b\n",
        "\t# removed by Moorage\n\ta = b\n",
    ),
    "a header beside its section": ("[http] extraHeader=PW\n", "[http] # removed by Moorage\n"),
    "a password": ("\tsmtpPass = PW\n", "\t# removed by Moorage\n"),
    "a helper of shell text": ('\thelper = "!f() { echo password=PW; }; f"\n', "\t# removed by Moorage\n"),
    "a helper by its name": ("\thelper = store\n", "\thelper = store\n"),
    "the user of ssh": ("\turl = ssh://git@h/r\n", "\turl = ssh://git@h/r\n"),
    "a password of ssh": ("\turl = ssh://git:PW@h/r\n", "\turl = ssh://git@h/r\n"),
    "a user of a host": ("\turl = git@h:r\n", "\turl = git@h:r\n"),
    "no login": ("\turl = https://h/r@1\n", "\turl = https://h/r@1\n"),
}


@pytest.mark.parametrize(("line", "kept"), LINES.values(), ids=LINES.keys())
def test_a_configuration_loses_its_logins_and_nothing_else(line: str, kept: str) -> None:
    assert without_logins(PurePosixPath("config"), line.encode()).decode() == kept
