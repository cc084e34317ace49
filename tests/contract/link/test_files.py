"""Files over the link: whole or not at all, never outside, the same bytes at the other end."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import signal
import tarfile
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest
from testcluster.shell import wait_for

from moorage.core.errors import (
    Conflict,
    Fenced,
    HelperError,
    IntegrityError,
    LinkError,
    MoorageError,
    NotFound,
)
from moorage.core.wire.mux import BYTES, MESSAGE
from moorage.engine.link import AgentLink
from moorage.engine.link.connection import LinkStream
from moorage.ports.link import LeftOut
from tests.contract.link.loopback import Agentctl

LIMIT = 1 << 30
PIECE = 1 << 20


async def pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), PIECE):
        yield data[start : start + PIECE]


def tar(*entries: tuple[str, bytes | None], change: Callable[[tarfile.TarInfo], None] | None = None) -> bytes:
    """A tar of files; None as content makes a directory. ``change`` spoils each header."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in entries:
            info = tarfile.TarInfo(name)
            info.mode = 0o644
            if content is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
            info.size = len(content or b"")
            if change is not None:
                change(info)
            archive.addfile(info, io.BytesIO(content or b""))
    return out.getvalue()


async def test_what_a_tar_cannot_hold_is_counted_and_named(link: AgentLink, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/file").write_bytes(b"x")
    (tree / "sub/link").symlink_to("file")
    for number in range(25):
        os.mkfifo(os.fsencode(tree) + b"/sub/\xff%03d" % number)
    left_out = LeftOut()
    whole = b"".join([part async for part in link.get_tar(str(tree), left_out)])
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        assert archive.getnames() == ["sub", "sub/file", "sub/link"]
    assert (left_out.count, len(left_out.names)) == (25, 20)
    assert left_out.names[:2] == ["sub/\ufffd000", "sub/\ufffd001"]


def names(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


async def test_64_mib_come_back_with_the_same_hash(agentctl: Agentctl, link: AgentLink) -> None:
    data = os.urandom(64 << 20)
    written = await link.put_tar(str(agentctl.workspace), pieces(tar(("big", data))), limit=LIMIT)
    assert written == len(data)
    back = b"".join([part async for part in link.get_tar(str(agentctl.workspace / "big"))])
    with tarfile.open(fileobj=io.BytesIO(back)) as archive:
        content = archive.extractfile("big")
        assert content is not None
        assert hashlib.sha256(content.read()).digest() == hashlib.sha256(data).digest()


async def test_a_tree_keeps_modes_links_and_odd_names(agentctl: Agentctl, link: AgentLink) -> None:
    source = agentctl.root / "source"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (source / "deep" / "run.sh").chmod(0o755)
    (source / "deep" / "er" / "back").symlink_to("../run.sh")
    (source / "spaces and ünïcode\n").write_bytes(b"\0\xff")
    (source / "empty").mkdir(mode=0o700)
    whole = b"".join([part async for part in link.get_tar(str(source))])
    target = agentctl.workspace / "copy"
    await link.put_tar(str(target), pieces(whole), limit=LIMIT)
    assert names(target) == names(source)
    assert await link.hash_tree(str(target)) == await link.hash_tree(str(source))
    (target / "deep" / "run.sh").chmod(0o700)
    assert await link.hash_tree(str(target)) != await link.hash_tree(str(source))


def _renamed(name: str) -> Callable[[tarfile.TarInfo], None]:
    def change(info: tarfile.TarInfo) -> None:
        info.name = name

    return change


def _typed(kind: bytes, target: str = "") -> Callable[[tarfile.TarInfo], None]:
    def change(info: tarfile.TarInfo) -> None:
        info.type, info.linkname, info.size = kind, target, 0

    return change


def _mode(mode: int) -> Callable[[tarfile.TarInfo], None]:
    def change(info: tarfile.TarInfo) -> None:
        info.mode = mode

    return change


HOSTILE: dict[str, Callable[[tarfile.TarInfo], None]] = {
    "a name with ..": _renamed("../evil"),
    "a name with .. inside": _renamed("a/../../evil"),
    "an absolute name": _renamed("/evil"),
    "one of our own names": _renamed(".moorage-workspace"),
    "an absolute link": _typed(tarfile.SYMTYPE, "/etc/passwd"),
    "a link upwards": _typed(tarfile.SYMTYPE, "../outside"),
    "a link down and up again": _typed(tarfile.SYMTYPE, "a/../../outside"),
    "a hard link to a name with ..": _typed(tarfile.LNKTYPE, "../outside"),
    "a hard link to nothing": _typed(tarfile.LNKTYPE, "absent"),
    "a device": _typed(tarfile.CHRTYPE),
    "a fifo": _typed(tarfile.FIFOTYPE),
    "a set-user-ID file": _mode(0o4755),
    "a set-group-ID file": _mode(0o2755),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_entry_refuses_the_whole_archive(
    agentctl: Agentctl, link: AgentLink, name: str
) -> None:
    data = tar(("good", b"x"))[:1024] + tar(("evil", b""), change=HOSTILE[name])
    with pytest.raises(HelperError) as refusal:
        await link.put_tar(str(agentctl.workspace), pieces(data), limit=LIMIT)
    assert refusal.value.details["code"] == "hostile"
    assert names(agentctl.workspace) == []


async def test_nothing_is_written_through_a_link_of_the_same_archive(
    agentctl: Agentctl, link: AgentLink
) -> None:
    data = tar(("way", b""), change=_typed(tarfile.SYMTYPE, "there"))[:512] + tar(("way/evil", b"x"))
    with pytest.raises(HelperError, match="behind a symbolic link"):
        await link.put_tar(str(agentctl.workspace), pieces(data), limit=LIMIT)
    assert names(agentctl.workspace) == []


async def test_an_existing_entry_is_a_conflict_and_nothing_changes(
    agentctl: Agentctl, link: AgentLink
) -> None:
    (agentctl.workspace / "b").write_text("mine")
    data = tar(("a", b"new"), ("b", b"new"), ("c", b"new"))
    with pytest.raises(Conflict, match="b exists"):
        await link.put_tar(str(agentctl.workspace), pieces(data), limit=LIMIT)
    assert names(agentctl.workspace) == ["b"]
    await link.put_tar(str(agentctl.workspace), pieces(data), limit=LIMIT, replace=True)
    assert (agentctl.workspace / "b").read_text() == "new"
    assert names(agentctl.workspace) == ["a", "b", "c"]


async def test_replacing_merges_directories(agentctl: Agentctl, link: AgentLink) -> None:
    (agentctl.workspace / "d").mkdir()
    (agentctl.workspace / "d" / "kept").write_text("kept")
    data = tar(("d/new", b"new"))
    await link.put_tar(str(agentctl.workspace), pieces(data), limit=LIMIT, replace=True)
    assert names(agentctl.workspace) == ["d", "d/kept", "d/new"]


async def test_more_bytes_than_the_limit_leave_nothing(agentctl: Agentctl, link: AgentLink) -> None:
    with pytest.raises(HelperError, match="more than 1000 bytes"):
        await link.put_tar(str(agentctl.workspace), pieces(tar(("a", bytes(2000)))), limit=1000)
    assert names(agentctl.workspace) == []


BROKEN = {
    "cut off in a file": tar(("a", bytes(5000)))[:2000],
    "no tar at all": b"\x01" * 2048,
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_archive_leaves_nothing(agentctl: Agentctl, link: AgentLink, name: str) -> None:
    with pytest.raises((IntegrityError, HelperError)):
        await link.put_tar(str(agentctl.workspace), pieces(BROKEN[name]), limit=LIMIT)
    assert names(agentctl.workspace) == []


async def test_an_upload_given_up_half_way_leaves_nothing(agentctl: Agentctl, link: AgentLink) -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield tar(("a", b"x"), ("b", bytes(9000)))[:4096]
        raise OSError("the disk here failed")

    with pytest.raises(OSError, match="the disk here"):
        await link.put_tar(str(agentctl.workspace), failing(), limit=LIMIT)
    await link.put_tar(str(agentctl.workspace), pieces(tar(("c", b"x"))), limit=LIMIT)
    there = partial(os.listdir, agentctl.workspace)  # agentctl clears away when it hears of the end
    await asyncio.to_thread(wait_for, "the half to be cleared away", lambda: there() == ["c"])
    assert names(agentctl.workspace) == ["c"]


async def test_a_listing_names_kinds_and_sizes(agentctl: Agentctl, link: AgentLink) -> None:
    (agentctl.workspace / "file").write_bytes(b"12345")
    (agentctl.workspace / "dir").mkdir()
    (agentctl.workspace / "link").symlink_to("file")
    listed = {entry.path: entry for entry in await link.list_files(str(agentctl.workspace))}
    kinds = {Path(path).name: entry.kind for path, entry in listed.items()}
    assert kinds == {"file": "file", "dir": "dir", "link": "link"}
    assert listed[str(agentctl.workspace / "file")].size == 5
    with pytest.raises(NotFound):
        await link.list_files(str(agentctl.workspace / "absent"))
    with pytest.raises(HelperError, match="more than 2 entries"):
        await link.list_files(str(agentctl.workspace), limit=2)


async def test_a_large_listing_is_complete(agentctl: Agentctl, link: AgentLink) -> None:
    for number in range(5000):
        (agentctl.workspace / f"a-rather-long-name-for-a-file-{number:06}").touch()
    assert len(await link.list_files(str(agentctl.workspace))) == 5000


async def test_a_workspace_is_filled_once(agentctl: Agentctl, link: AgentLink) -> None:
    workspace = str(agentctl.workspace)
    (agentctl.workspace / "lost+found").mkdir()
    data = tar(("a", b"1"), ("d/b", b"2"))
    assert await link.marker(workspace) == ""
    assert await link.materialize(workspace, pieces(data), marker="m1", limit=LIMIT) is True
    assert await link.marker(workspace) == "m1"
    (agentctl.workspace / "a").write_text("changed by the agent")
    assert await link.materialize(workspace, pieces(data), marker="m1", limit=LIMIT) is False
    assert (agentctl.workspace / "a").read_text() == "changed by the agent"
    with pytest.raises(Conflict, match="another source"):
        await link.materialize(workspace, pieces(data), marker="m2", limit=LIMIT)
    hashed = await link.hash_tree(workspace)
    (agentctl.workspace / ".moorage-put-left").mkdir()
    assert await link.hash_tree(workspace) == hashed


async def test_a_former_owner_fills_no_workspace(agentctl: Agentctl) -> None:
    workspace, data = str(agentctl.workspace), tar(("a", b"1"))
    former = await agentctl.link(fence=1)
    owner = await agentctl.link(fence=2)
    with pytest.raises(Fenced):
        await former.materialize(workspace, pieces(data), marker="m", limit=LIMIT)
    assert names(agentctl.workspace) == []
    assert await owner.materialize(workspace, pieces(data), marker="m", limit=LIMIT) is True


async def test_an_owner_that_was_replaced_while_it_sent_marks_nothing(agentctl: Agentctl) -> None:
    workspace, data = str(agentctl.workspace), tar(("a", bytes(3 << 20)))
    former = await agentctl.link(fence=1)

    async def replaced() -> AsyncIterator[bytes]:
        yield data[: 2 << 20]
        await agentctl.link(fence=2)
        yield data[2 << 20 :]

    with pytest.raises(Fenced):
        await former.materialize(workspace, replaced(), marker="m", limit=LIMIT)
    assert names(agentctl.workspace) == []


async def test_a_workspace_with_other_content_is_left_alone(agentctl: Agentctl, link: AgentLink) -> None:
    (agentctl.workspace / "mine").write_text("x")
    with pytest.raises(Conflict, match="other content: mine"):
        await link.materialize(str(agentctl.workspace), pieces(tar(("a", b""))), marker="m", limit=LIMIT)
    assert names(agentctl.workspace) == ["mine"]


async def test_agentctl_killed_while_unpacking_begins_anew(agentctl: Agentctl, link: AgentLink) -> None:
    workspace = str(agentctl.workspace)
    data = tar(("a", b"1"), ("b", bytes(3 << 20)))

    async def interrupted() -> AsyncIterator[bytes]:
        yield data[: 2 << 20]
        await agentctl.end(signal.SIGKILL)
        yield data[2 << 20 :]

    with pytest.raises(LinkError):
        await link.materialize(workspace, interrupted(), marker="m", limit=LIMIT)
    await agentctl.start()
    again = await agentctl.link()
    assert await again.marker(workspace) == ""
    assert await again.materialize(workspace, pieces(data), marker="m", limit=LIMIT) is True
    assert names(agentctl.workspace) == [".moorage-workspace", "a", "b"]


async def test_agentctl_killed_between_two_renames_is_finished_without_the_source(
    agentctl: Agentctl, link: AgentLink
) -> None:
    # The state that a kill after the first of two renames leaves.
    fill = agentctl.workspace / ".moorage-fill"
    (fill / "tree").mkdir(parents=True)
    (fill / "ready").write_text("m")
    (fill / "tree" / "second").write_text("2")
    (agentctl.workspace / "first").write_text("1")
    assert await link.materialize(str(agentctl.workspace), pieces(b""), marker="m", limit=LIMIT) is True
    assert names(agentctl.workspace) == [".moorage-workspace", "first", "second"]


async def test_relative_paths_are_refused(link: AgentLink) -> None:
    with pytest.raises(MoorageError, match="absolute"):
        await link.hash_tree("workspace")


async def test_an_upload_that_is_not_what_was_sent_leaves_nothing(
    agentctl: Agentctl, link: AgentLink
) -> None:
    """A sender whose receipt does not fit its bytes, frame by frame since no caller can do that."""
    opening = {"op": "put_tar", "path": str(agentctl.workspace), "limit": LIMIT, "replace": False}
    for claimed in ("0" * 64, ""):
        stream = await link._connection.open(opening)
        data = tar(("a", b"x"))
        await stream.send(BYTES, data)
        if claimed:
            receipt = json.dumps({"sha256": claimed, "bytes": len(data)})
            await stream.send(MESSAGE, receipt.encode())
        stream.end()
        with pytest.raises(IntegrityError):
            await stream.result()
        assert names(agentctl.workspace) == []


async def test_bytes_changed_on_the_way_down_are_noticed(
    agentctl: Agentctl, link: AgentLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    (agentctl.workspace / "a").write_bytes(bytes(1000))
    original = LinkStream.receive

    async def meddled(stream: LinkStream) -> tuple[int, bytes] | None:
        part = await original(stream)
        return None if part is None else (part[0], part[1][:-1] + b"!")

    monkeypatch.setattr(LinkStream, "receive", meddled)
    with pytest.raises(IntegrityError):
        async for _ in link.get_tar(str(agentctl.workspace)):
            pass
