"""Archives as a Pod might send them, and what they leave behind. Used by the tests of ``cp``."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from pathlib import Path

from moorage.ports.link import FileEntry
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
