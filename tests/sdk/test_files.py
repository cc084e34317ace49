"""Files: whole or not at all, the mode kept, bytes as they are; and the tar that carries one."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage import AsyncSandbox, FileNotFoundException, FilesystemEvent, FilesystemEventType, FileType
from moorage.core.errors import IntegrityError, UsageError
from moorage.ports.link import FileChange
from moorage.sdk.tar_stream import only_file, packed
from tests.sdk.fakes import Verbs


async def pieces(data: bytes, size: int = 100) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def all_of(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


@given(
    content=st.binary(max_size=3000), name=st.text("aü", min_size=1, max_size=120), size=st.integers(1, 1500)
)
async def test_a_file_comes_out_of_a_tar_as_it_went_in(content: bytes, name: str, size: int) -> None:
    whole = await all_of(packed(name, 0o640, len(content), 1e9, pieces(content)))
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        (member,) = archive.getmembers()
        assert (member.name, member.mode, member.size) == (name, 0o640, len(content))
    assert await all_of(only_file(pieces(whole, size))) == content


def archive(*members: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info


BROKEN = {
    "a directory": archive(member("d", tarfile.DIRTYPE)),
    "a link": archive(member("l", tarfile.SYMTYPE)),
    "nothing": archive(),
    "cut in its header": archive(member("f", size=5))[:300],
    "cut in its content": archive(member("f", size=600))[:700],
    "no tar": os.urandom(2048),
}


@pytest.mark.parametrize("whole", BROKEN.values(), ids=BROKEN.keys())
async def test_any_other_archive_is_refused(whole: bytes) -> None:
    with pytest.raises(IntegrityError):
        await all_of(only_file(pieces(whole)))


async def test_a_file_is_read_as_text_bytes_or_a_stream(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    verbs.disk.contents |= {"/workspace/a": "grün".encode(), "/etc/b": b"\xff" * 5000}
    assert await sandbox.files.read("a") == "grün"
    assert await sandbox.files.read("/etc/b", format="bytes") == b"\xff" * 5000
    assert await all_of(await sandbox.files.read("/etc/b", format="stream")) == b"\xff" * 5000
    with pytest.raises(UsageError, match="not UTF-8"):
        await sandbox.files.read("/etc/b")
    with pytest.raises(UsageError, match="directory"):
        await sandbox.files.read("/workspace")
    with pytest.raises(FileNotFoundException):
        await sandbox.files.read("none")


async def test_a_file_is_written_from_anything_and_keeps_its_mode(
    sandbox: AsyncSandbox, verbs: Verbs
) -> None:
    verbs.disk.contents["/workspace/run.sh"], verbs.disk.modes["/workspace/run.sh"] = b"old", 0o755
    written = await sandbox.files.write_files(
        [
            {"path": "run.sh", "data": "new ü"},
            {"path": "/tmp/b", "data": b"\0\1"},
            {"path": "c", "data": io.BytesIO(b"from a file")},
            {"path": "d", "data": io.StringIO("text ü")},
        ]
    )
    await sandbox.files.write("e", pieces(b"streamed" * 100))
    assert verbs.disk.contents == {
        "/workspace/run.sh": "new ü".encode(),
        "/tmp/b": b"\0\1",
        "/workspace/c": b"from a file",
        "/workspace/d": "text ü".encode(),
        "/workspace/e": b"streamed" * 100,
    }
    assert verbs.disk.modes["/workspace/run.sh"] == 0o755
    assert verbs.disk.modes["/tmp/b"] == 0o644
    assert (written[0].name, written[0].path) == ("run.sh", "/workspace/run.sh")
    with pytest.raises(UsageError, match="names no file"):
        await sandbox.files.write("d/", "x")


async def test_a_path_is_looked_at_moved_and_taken_away(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    verbs.disk.contents["/workspace/a"] = b"abc"
    info = await sandbox.files.get_info("a")
    assert (info.name, info.type, info.size, info.permissions) == ("a", FileType.FILE, 3, "rw-r--r--")
    assert (await sandbox.files.rename("a", "b")).path == "/workspace/b"
    assert [await sandbox.files.exists(name) for name in ("a", "b")] == [False, True]
    await sandbox.files.remove("b")
    assert not await sandbox.files.exists("b")
    assert [await sandbox.files.make_dir("d") for _ in range(2)] == [True, False]


async def test_a_listing_goes_as_deep_as_it_is_asked_to(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    verbs.disk.dirs |= {"/workspace/d", "/workspace/d/e"}
    verbs.disk.contents |= {"/workspace/d/e/f": b"", "/workspace/a": b""}
    depths = [
        [entry.path for entry in await sandbox.files.list("/workspace", depth=deep)] for deep in (1, 2, 9)
    ]
    top = ["/workspace/a", "/workspace/d"]
    assert depths == [top, [*top, "/workspace/d/e"], [*top, "/workspace/d/e", "/workspace/d/e/f"]]
    with pytest.raises(UsageError, match="no directory"):
        await sandbox.files.list("a")
    with pytest.raises(UsageError):
        await sandbox.files.list("/workspace", depth=0)


async def test_a_watch_tells_a_handler_and_why_it_ended(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    verbs.disk.contents["/workspace/a"] = b""
    seen: list[FilesystemEvent] = []
    ended: list[Exception | None] = []
    handle = await sandbox.files.watch_dir("", seen.append, ended.append, include_entry=True, timeout=None)
    verbs.disk.changes.put_nowait(FileChange("a", "write"))
    verbs.disk.changes.put_nowait(FileChange("gone", "remove"))
    verbs.disk.changes.put_nowait(None)
    await handle._task
    assert [(event.name, event.type, event.entry is not None) for event in seen] == [
        ("a", FilesystemEventType.WRITE, True),
        ("gone", FilesystemEventType.REMOVE, False),
    ]
    assert [type(end) for end in ended] == [FileNotFoundException]


async def test_a_watch_without_a_handler_keeps_what_it_saw(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    handle = await sandbox.files.watch_dir("/workspace")
    verbs.disk.changes.put_nowait(FileChange("a", "create"))
    verbs.disk.changes.put_nowait(None)
    await handle._task
    assert [event.name for event in await handle.get_new_events()] == ["a"]
    with pytest.raises(FileNotFoundException):
        await handle.get_new_events()
    await handle.stop()
    with pytest.raises(FileNotFoundException):
        await sandbox.files.watch_dir("/none")
