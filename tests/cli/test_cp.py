"""Copying: where things land, what is kept, and what is said of the rest."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from moorage.cli.places import Local, Remote, parse_place
from moorage.core.errors import HelperError, MoorageError, NotFound
from moorage.ports.link import FileEntry, LeftOut
from tests.cli.archives import entry, everything, folder, link, serve
from tests.cli.harness import Cli


@pytest.mark.parametrize(
    ("goal", "lands"),
    [
        (".", "a.txt"),
        ("new.txt", "new.txt"),
        ("sub", "sub/a.txt"),
        ("sub/", "sub/a.txt"),
        ("./sub/n", "sub/n"),
    ],
)
def test_a_file_lands_where_cp_would_put_it(cli: Cli, here: Path, goal: str, lands: str) -> None:
    (here / "sub").mkdir()
    serve(cli, "/workspace/a.txt", "file", entry("a.txt", b"hi", mode=0o754))
    result = cli("cp", "brisk-otter:a.txt", goal)
    assert (result.code, result.out) == (0, b"")
    assert (here / lands).read_bytes() == b"hi"
    assert stat.S_IMODE((here / lands).stat().st_mode) == 0o754


def test_a_directory_lands_under_its_name_or_as_the_new_one_with_modes_kept(cli: Cli, here: Path) -> None:
    parts = (folder("d", 0o750), entry("d/x", b"x", mode=0o600), folder("ro", 0o555), entry("ro/y", b"y"),
             link("up", "d/x"), entry("d/hard", kind=tarfile.LNKTYPE, link="d/x"))  # fmt: skip
    serve(cli, "/workspace/src", "dir", *parts)
    assert cli("cp", "brisk-otter:/workspace/src", ".").code == 0
    assert cli("cp", "brisk-otter:src/", "other").code == 0
    expected = {
        "d": (0o750, "dir"), "d/x": (0o600, b"x"), "d/hard": (0o600, b"x"), "ro": (0o555, "dir"),
        "ro/y": (0o644, b"y"), "up": (0, "d/x"),
    }  # fmt: skip
    assert everything(here / "src") == everything(here / "other") == expected


def test_contents_are_merged_into_what_is_there(cli: Cli, here: Path) -> None:
    (here / "d").mkdir()
    (here / "d" / "mine").write_text("mine")
    (here / "d" / "x").write_text("old")
    serve(cli, "/workspace", "dir", folder("d"), entry("d/x", b"new"))
    assert cli("cp", "brisk-otter:/workspace/.", ".").code == 0
    assert [(here / "d" / name).read_text() for name in ("mine", "x")] == ["mine", "new"]


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("brisk-otter:/gone", "."), 3, "there is no /gone in session brisk-otter"),
        (
            ("brisk-otter:gone", "."),
            3,
            "hint: see what is there: moorage exec brisk-otter -- ls /workspace\n",
        ),
        (("brisk-otter:/a b/c/", "."), 3, "moorage exec brisk-otter -- ls '/a b'\n"),
        (("brisk-otter:a.txt", "no/such/dir/f"), 3, "there is no directory no/such/dir"),
        (("brisk-otter:a.txt", "nodir/"), 3, "there is no directory nodir/"),
        (("brisk-otter:a.txt/", "."), 2, "a.txt is a file, not a directory"),
        (("brisk-otter:src", "plain"), 5, "is a file, and the copy is a directory"),
        (("nobody:src", "."), 3, "there is no session 'nobody'"),
    ],
)
def test_what_cannot_land_is_said_and_changes_nothing(
    cli: Cli, here: Path, argv: tuple[str, str], code: int, said: str
) -> None:
    (here / "plain").write_text("mine")
    serve(cli, "/workspace/a.txt", "file", entry("a.txt", b"hi"))
    serve(cli, "/workspace/src", "dir", entry("x", b"y"))
    before = everything(here)
    result = cli("cp", *argv)
    assert (result.code, everything(here)) == (code, before)
    assert said in result.err


def test_a_tar_stream_passes_through_stdout_and_stdin_unchanged(cli: Cli) -> None:
    serve(cli, "/workspace/src", "dir", entry("x", b"y" * 100_000))
    assert cli("cp", "brisk-otter:src", "-").out == b"".join(cli.verbs.tar)
    driver = """
import sys
from tests.cli.scripted import *
from tests.cli.wired import ScriptedWiring
from moorage.cli.app import run_cli
verbs = Scripted()
code = run_cli(["cp", "-", "brisk-otter:/workspace/in"], ScriptedWiring(verbs))
sys.stdout.buffer.write(verbs.uploaded["/workspace/in"])
sys.exit(code)
"""
    sent = b"".join(cli.verbs.tar)
    process = subprocess.run([sys.executable, "-c", driver], input=sent, stdout=subprocess.PIPE, check=True)
    assert process.stdout == sent


def names(data: bytes) -> dict[str, int]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {member.name: member.mode for member in archive}


@pytest.mark.parametrize(
    ("argv", "folder_there", "sent_to", "sent"),
    [
        (("f", "brisk-otter:/workspace/g"), False, "/workspace", {"g": 0o640}),
        (("f", "brisk-otter:/workspace/d"), True, "/workspace/d", {"f": 0o640}),
        (("f", "brisk-otter:new/"), False, "/workspace/new", {"f": 0o640}),
        (("f", "brisk-otter:g"), False, "/workspace", {"g": 0o640}),
        (("t", "brisk-otter:/workspace/d"), True, "/workspace/d/t", {"x": 0o600, "e": 0o700, "l": 0o777}),
        (("t", "brisk-otter:/workspace/n"), False, "/workspace/n", {"x": 0o600, "e": 0o700, "l": 0o777}),
        (("t/.", "brisk-otter:/workspace/d"), True, "/workspace/d", {"x": 0o600, "e": 0o700, "l": 0o777}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_an_upload_lands_where_cp_would_put_it_with_modes_kept(
    cli: Cli, here: Path, argv: tuple[str, str], folder_there: bool, sent_to: str, sent: dict[str, int]
) -> None:
    (here / "f").write_text("f")
    (here / "f").chmod(0o640)
    (here / "t" / "e").mkdir(parents=True)
    (here / "t" / "e").chmod(0o700)
    (here / "t" / "x").write_text("x")
    (here / "t" / "x").chmod(0o600)
    (here / "t" / "l").symlink_to("x")
    if folder_there:
        cli.verbs.files["/workspace/d"] = [FileEntry("/workspace/d/a", "file", 1, 0o644, 0.0)]
    assert cli("cp", *argv).code == 0
    assert list(cli.verbs.uploaded) == [sent_to]
    assert names(cli.verbs.uploaded[sent_to]) == sent


def test_a_directory_too_large_to_list_is_a_directory(cli: Cli, here: Path) -> None:
    (here / "f").write_text("f")
    cli.verbs.failures["list_files"] = HelperError("too many", details={"code": "limit"})
    assert cli("cp", "f", "brisk-otter:/workspace/d").code == 0
    assert list(cli.verbs.uploaded) == ["/workspace/d"]


def test_what_is_no_file_is_left_out_and_said(cli: Cli, here: Path) -> None:
    (here / "t").mkdir()
    os.mkfifo(here / "t" / "pipe")
    (here / "t" / "x").write_text("x")
    result = cli("cp", "t", "brisk-otter:/workspace/t")
    assert result.code == 1
    assert "left out 1 entry that is neither file, directory nor link: pipe\n" in result.err
    assert set(names(cli.verbs.uploaded["/workspace/t"])) == {"x"}


@pytest.mark.parametrize("target", ["/etc/hostname", "../beside", "d/../x"])
def test_links_that_lead_out_are_left_out_of_an_upload_and_said(cli: Cli, here: Path, target: str) -> None:
    (here / "t" / "d").mkdir(parents=True)
    (here / "t" / "x").write_text("x")
    (here / "t" / "in").symlink_to("x")
    (here / "t" / "out").symlink_to(target)
    result = cli("cp", "t", "brisk-otter:/workspace/t")
    assert result.code == 1
    assert f"left out, leads out of the copy: out -> {target}\n" in result.err
    assert set(names(cli.verbs.uploaded["/workspace/t"])) == {"d", "x", "in"}


@pytest.mark.parametrize("kind", [HelperError, NotFound])
def test_a_place_that_takes_no_file_gets_a_hint(cli: Cli, here: Path, kind: type[MoorageError]) -> None:
    (here / "f").write_text("f")
    cli.verbs.failures["put_tar"] = kind("mkdir /proc/x: no such file", details={"code": "not_found"})
    result = cli("cp", "f", "brisk-otter:/proc/x")
    assert result.code == kind.exit_code
    look = "moorage exec brisk-otter -- ls -ld /proc"
    assert f"hint: /workspace can be written; see who may write there: {look}\n" in result.err


@pytest.mark.parametrize("goal", ["copy", "-"])
@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        (LeftOut(1, ["run/s"]), "1 entry that is neither file, directory nor link: run/s\n"),
        (
            LeftOut(2, ["p", "\x1b[2Jq\u202e"]),
            "2 entries that are neither file, directory nor link: p, \\x1b[2Jq",
        ),
        (
            LeftOut(4000, [f"p{n}" for n in range(20)]),
            ": p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, and 3990 more\n",
        ),
    ],
)
def test_what_a_pod_cannot_pack_is_said_with_count_and_names(
    cli: Cli, here: Path, goal: str, left_out: LeftOut, said: str
) -> None:
    serve(cli, "/workspace/src", "dir", entry("x", b"y"))
    cli.verbs.left_out = left_out
    result = cli("cp", "brisk-otter:src", goal)
    assert (result.code, f"left out {left_out.count} entr" in result.err) == (1, True)
    assert said in result.err
    assert "\x1b" not in result.err
    assert (here / "copy/x").exists() == (goal == "copy")


def test_a_copy_says_how_many_files_came(cli: Cli, here: Path) -> None:
    serve(cli, "/workspace/a.txt", "file", entry("a.txt", b"hi"))
    assert "copied 1 file, 2 B, to " in cli("cp", "brisk-otter:a.txt", ".").err
    serve(cli, "/workspace/src", "dir", entry("x", b"y"), entry("z", b""))
    assert "copied 2 files, 1 B, to " in cli("cp", "brisk-otter:src", ".").err


def test_a_refused_upload_ends_with_its_error_and_no_thread_left(cli: Cli, here: Path) -> None:
    (here / "big").write_bytes(b"x" * 5_000_000)
    cli.verbs.failures["put_tar"] = NotFound("gone", hint="h")
    assert cli("cp", "big", "brisk-otter:/workspace/").code == 3


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("s:/a/b", Remote("s", "/a/b")),
        ("s:a", Remote("s", "/workspace/a")),
        ("s:", Remote("s", "/workspace")),
        ("s:/a//b/../c/", Remote("s", "/a/c", into=True)),
        ("s:/a/.", Remote("s", "/a", contents=True)),
        ("s:a:b", Remote("s", "/workspace/a:b")),
        ("./s:a", Local("./s:a")),
        ("dir/s:a", Local("dir/s:a")),
        ("plain", Local("plain")),
        ("-", Local("-")),
    ],
)
def test_a_place_is_read_as_scp_would(text: str, place: Remote | Local) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["s:/a\udcff", "s\udcff:/a"], ids=["path", "name"])
def test_bytes_that_a_session_would_read_as_others_are_refused_and_nobody_is_asked(
    cli: Cli, here: Path, text: str
) -> None:
    for words in ((text, "."), ("tree", text)):
        result = cli("cp", *words)
        assert result.code == 2
        assert "is not UTF-8 text" in result.err
    assert cli.verbs.calls == []


def test_a_local_name_may_be_any_bytes() -> None:
    assert parse_place("./a\udcff") == Local("./a\udcff")
