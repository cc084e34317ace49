"""Copying from a hostile Pod: nothing is written outside the copy, and nothing by halves."""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path

import pytest

from moorage.cli import unpack
from moorage.core.errors import IntegrityError
from tests.cli.archives import Entry, entry, everything, folder, link, serve
from tests.cli.harness import Cli

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
