"""Copying: where things land, what is kept, and that a hostile Pod cannot write outside the copy."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from moorage.cli import unpack
from moorage.cli.places import Local, Remote, parse_place
from moorage.core.errors import HelperError, IntegrityError, NotFound
from moorage.ports.link import FileEntry, LeftOut
from tests.cli.harness import Cli

Entry = tarfile.TarInfo


def entry(
    name: str, data: bytes = b"", *, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644
) -> Entry:
    info = Entry(name)
    info.type, info.linkname, info.mode, info.mtime = kind, link, mode, 1_700_000_000
    info.size = len(data)
    info.pax_headers = {"data": data.decode("latin-1")}
    return info


def tar(*entries: Entry) -> bytes:
    """An archive as a Pod might send it, names unchecked."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for info in entries:
            archive.addfile(info, io.BytesIO(info.pax_headers["data"].encode("latin-1")))
    return buffer.getvalue()


def folder(name: str, mode: int = 0o755) -> Entry:
    return entry(name, kind=tarfile.DIRTYPE, mode=mode)


def link(name: str, target: str) -> Entry:
    return entry(name, kind=tarfile.SYMTYPE, link=target)


def serve(cli: Cli, path: str, kind: str, *entries: Entry) -> None:
    """The Pod has ``path``: a file, or a directory with these entries."""
    listed = [FileEntry(path, "file", 1, 0o644, 0.0)] if kind == "file" else []
    cli.verbs.files[path] = listed
    data = tar(*entries)
    cli.verbs.tar = [data[at : at + 700] for at in range(0, len(data), 700)]


def everything(root: Path) -> dict[str, tuple[int, bytes | str]]:
    """Names, modes and contents below ``root``."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(root.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if path.is_symlink():
            found[str(path.relative_to(root))] = (0, os.readlink(path))
        elif path.is_file():
            found[str(path.relative_to(root))] = (mode, path.read_bytes())
        else:
            found[str(path.relative_to(root))] = (mode, "dir")
    return found


@pytest.fixture
def here(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory inside another that holds what must not change."""
    outside = cli.folder / "outside"
    place = outside / "here"
    place.mkdir(parents=True)
    (outside / "victim").write_text("untouched")
    monkeypatch.chdir(place)
    return place


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


HOSTILE: dict[str, list[Entry]] = {
    "absolute name": [entry("/tmp/evil", b"x")],
    "dot dot": [entry("../victim", b"x")],
    "dot dot inside": [entry("a/../../victim", b"x")],
    "through a link to a directory": [folder("d"), link("d/up", ".."), entry("d/up/up/victim", b"x")],
    "through a link inside": [folder("d"), link("l", "d"), entry("l/x", b"x")],
    "hard link out": [entry("h", kind=tarfile.LNKTYPE, link="../victim")],
    "hard link absolute": [entry("h", kind=tarfile.LNKTYPE, link="/etc/passwd")],
    "hard link to what it did not bring": [entry("h", kind=tarfile.LNKTYPE, link="nothing")],
    "hard link to a link": [folder("d"), link("d/l", "x"), entry("h", kind=tarfile.LNKTYPE, link="d/l")],
    "device": [entry("null", kind=tarfile.CHRTYPE)],
    "pipe": [entry("pipe", kind=tarfile.FIFOTYPE)],
    "file where a directory was": [folder("d"), entry("d/x", b"x"), entry("d", b"x")],
    "below a file": [entry("f", b"x"), entry("f/x", b"x")],
    "chain of links": [
        folder("a"), link("a/b", "."), link("a/c", "b/.."), link("a/d", "c/../.."), entry("a/d/victim", b"x")
    ],
}  # fmt: skip


@pytest.mark.parametrize("filtering", [True, False], ids=["data filter", "Python 3.11.0 to 3.11.3"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_writes_nothing_anywhere(
    cli: Cli, here: Path, name: str, filtering: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not filtering:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    before = everything(here.parent)
    serve(cli, "/workspace/src", "dir", entry("innocent", b"x"), *HOSTILE[name])
    result = cli("cp", "brisk-otter:src", ".")
    assert result.code == 1
    assert "error: the archive" in result.err
    assert everything(here.parent) == before


def test_a_file_that_is_really_a_link_is_not_copied(cli: Cli, here: Path) -> None:
    serve(cli, "/workspace/a.txt", "file", entry("b", b"x"), link("a.txt", "b"))
    result = cli("cp", "brisk-otter:a.txt", ".")
    assert (result.code, everything(here)) == (1, {})
    assert "the Pod sent no file 'a.txt'" in result.err


def raw_header(kind: bytes, size: int, name: str = "x") -> bytes:
    info = Entry(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def pax(*records: tuple[str, str]) -> bytes:
    """A pax header with these records, and an empty file after it."""
    info = Entry("x")
    info.pax_headers = dict(records)
    return info.tobuf(tarfile.PAX_FORMAT)


LONG = b"n" * (2 << 20)
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "sparse": (raw_header(tarfile.GNUTYPE_SPARSE, 0), "with holes"),
    "sparse by pax": (pax(("GNU.sparse.map", "0,0"), ("GNU.sparse.size", "1000")), "with holes"),
    "sparse map without end": (
        pax(("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("size", str(9 << 20)))
        + b"9" * 9 + b"\n" + b"1\n" * (251 + (4 << 20)), "header without end",
    ),
    "long name": (raw_header(tarfile.GNUTYPE_LONGNAME, 1 << 40) + LONG * 3, "header without end"),
    "pax record": (raw_header(tarfile.XHDTYPE, 1 << 40) + LONG * 3, "header without end"),
    "name": (raw_header(tarfile.GNUTYPE_LONGNAME, 8192) + b"n" * 8192 + raw_header(b"0", 0), "too long"),
    "headers in headers": (
        (raw_header(tarfile.GNUTYPE_LONGNAME, 1) + b"n".ljust(512, b"\0")) * 2000, "no readable archive"
    ),
    "negative size": (pax(("size", "-512")), "size below zero"),
    "size that is no number": (raw_header(tarfile.REGTYPE, 0)[:124] + b"zzzzzzzzzzz", "no readable archive"),
    "nothing but padding": (b"\0" * (20 << 20), "header without end"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_headers_made_to_exhaust_us_are_refused(cli: Cli, here: Path, name: str) -> None:
    data, said = UNREADABLE[name]
    serve(cli, "/workspace/src", "dir")
    cli.verbs.tar = [data[at : at + 65536] for at in range(0, len(data), 65536)]
    result = cli("cp", "brisk-otter:src", ".")
    assert (result.code, everything(here)) == (1, {})
    assert said in result.err


@pytest.mark.parametrize(("limit", "value"), [("MOST_ENTRIES", 2), ("MOST_BYTES", 5)])
def test_a_copy_has_a_most_of_entries_and_of_bytes(
    cli: Cli, here: Path, limit: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, limit, value)
    serve(cli, "/workspace/src", "dir", entry("a", b"xx"), entry("b", b"xx"), entry("c", b"xx"))
    result = cli("cp", "brisk-otter:src", ".")
    assert (result.code, everything(here)) == (1, {})
    assert "the archive is over" in result.err


@pytest.mark.parametrize("target", ["/etc/passwd", "../../victim", "..", "a/../../x"])
def test_links_that_lead_out_are_left_out_and_said(cli: Cli, here: Path, target: str) -> None:
    serve(cli, "/workspace/src", "dir", entry("kept", b"x"), link("l", target))
    result = cli("cp", "brisk-otter:src", ".")
    assert result.code == 1
    assert f"left out, leads out of the copy: l -> {target}\n" in result.err
    assert everything(here) == {"src": (0o755, "dir"), "src/kept": (0o644, b"x")}


def test_links_that_lead_out_by_way_of_others_are_left_out_too(cli: Cli, here: Path) -> None:
    chain = (link("a/d", "c/../.."), folder("a"), link("a/b", "."), link("a/c", "b/.."), entry("kept", b"x"))
    serve(cli, "/workspace/src", "dir", *chain)
    assert cli("cp", "brisk-otter:src", ".").code == 1
    root = (here / "src").resolve()
    found = [path for path in root.rglob("*") if path.is_symlink()]
    assert found
    assert all(path.resolve().is_relative_to(root) for path in found)


def test_set_uid_bits_and_owners_are_not_taken_over(cli: Cli, here: Path) -> None:
    mine = entry("x", b"x", mode=0o4755)
    mine.uid = mine.gid = 12345
    serve(cli, "/workspace/src", "dir", mine)
    assert cli("cp", "brisk-otter:src", ".").code == 0
    status = (here / "src" / "x").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o755, os.getuid(), os.getgid())


def test_a_link_that_stands_here_already_is_replaced_not_followed(cli: Cli, here: Path) -> None:
    (here / "src").mkdir()
    (here / "src" / "x").symlink_to(here.parent / "victim")
    serve(cli, "/workspace/src", "dir", entry("x", b"new"))
    assert cli("cp", "brisk-otter:src", ".").code == 0
    assert ((here / "src" / "x").read_text(), (here.parent / "victim").read_text()) == ("new", "untouched")


def test_a_link_to_a_directory_that_stands_here_already_is_not_followed(cli: Cli, here: Path) -> None:
    (here / "src").mkdir()
    (here / "src" / "d").symlink_to(here.parent)
    serve(cli, "/workspace/src", "dir", entry("first", b"x"), folder("d"), entry("d/victim", b"new"))
    before = everything(here.parent)
    result = cli("cp", "brisk-otter:src", ".")
    assert (result.code, everything(here.parent)) == (5, before)
    assert "src/d is a link, and the copy is a directory" in result.err


@pytest.mark.parametrize("cut", [1, 511, 513])
def test_a_cut_archive_leaves_nothing(cli: Cli, here: Path, cut: int) -> None:
    serve(cli, "/workspace/src", "dir", entry("x", b"y" * 5000))
    cli.verbs.tar = [b"".join(cli.verbs.tar)[:cut]]
    result = cli("cp", "brisk-otter:src", ".")
    assert (result.code, everything(here)) == (1, {})
    assert "no readable archive" in result.err


def test_an_archive_whose_hash_was_wrong_at_the_end_leaves_nothing(cli: Cli, here: Path) -> None:
    serve(cli, "/workspace/src", "dir", entry("x", b"y"))
    cli.verbs.tar_error = IntegrityError("SHA-256 differs")
    result = cli("cp", "brisk-otter:src", ".")
    assert (result.code, everything(here)) == (1, {})
    assert "error: SHA-256 differs" in result.err


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
