"""Single paths over the link: looked at, made, moved, taken away, watched."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from moorage.core.errors import Conflict, FileNotFound, UsageError
from moorage.engine.link import AgentLink
from moorage.ports.link import ExitStatus, FileChange, FileEntry, ProcessSpec
from tests.contract.link.loopback import Agentctl
from tests.contract.link.test_run import both


async def test_a_path_is_told_with_its_owner_and_a_link_with_its_target(
    agentctl: Agentctl, link: AgentLink
) -> None:
    top = agentctl.workspace
    (top / "file").write_bytes(b"abc")
    (top / "file").chmod(0o640)
    (top / "link").symlink_to("file")
    owner = (os.getuid(), os.getgid())
    told = await link.file_info(f"{top}/file")
    mtime = (top / "file").stat().st_mtime_ns // 1000 / 1e6
    assert told == FileEntry(f"{top}/file", "file", 3, 0o640, mtime, *owner)
    beside = await link.file_info(f"{top}/link")
    assert (beside.kind, beside.target) == ("link", "file")
    assert await link.file_info(f"{top}/link", follow=True) == told
    assert {entry.path: entry.target for entry in await link.list_files(str(top))} == {
        f"{top}/file": "",
        f"{top}/link": "file",
    }
    with pytest.raises(FileNotFound):
        await link.file_info(f"{top}/none")
    with pytest.raises(UsageError, match="absolute"):
        await link.file_info("file")


async def test_a_directory_is_made_moved_and_taken_away(agentctl: Agentctl, link: AgentLink) -> None:
    top = agentctl.workspace
    assert [await link.make_dir(f"{top}/a/b"), await link.make_dir(f"{top}/a/b")] == [True, False]
    (top / "a/b/file").write_bytes(b"x")
    await link.rename_path(f"{top}/a/b", f"{top}/c")
    assert (top / "c/file").read_bytes() == b"x"
    with pytest.raises(Conflict):
        await link.rename_path(f"{top}/a", f"{top}/c")
    with pytest.raises(FileNotFound):
        await link.rename_path(f"{top}/none", f"{top}/d")
    with pytest.raises(Conflict):
        await link.make_dir(f"{top}/c/file")
    for _ in range(2):
        await link.remove_path(f"{top}/c")
    assert [path.name for path in top.iterdir()] == ["a"]
    with pytest.raises(UsageError):
        await link.remove_path("/")


async def until(changes: AsyncIterator[FileChange | None], last: str) -> list[FileChange]:
    """What is told until ``last`` was made."""
    seen: list[FileChange] = []
    while not seen or seen[-1] != FileChange(last, "create"):
        change = await anext(changes)
        assert change is not None
        seen.append(change)
    return seen


async def test_a_watch_misses_nothing_from_its_first_word_on(agentctl: Agentctl, link: AgentLink) -> None:
    top = agentctl.workspace
    async with aclosing(link.watch_dir(str(top), recursive=True)) as changes:
        assert await anext(changes) is None
        (top / "sub").mkdir()
        (top / "sub/one").write_bytes(b"x")
        (top / "sub/one").rename(top / "two")
        seen = await until(changes, "two")
        assert seen[0] == FileChange("sub", "create")
        (top / "sub/late").write_bytes(b"x")
        (top / "end").write_bytes(b"x")
        assert FileChange("sub/late", "write") in await until(changes, "end")
    assert (await link.file_info(f"{top}/two")).size == 1  # the connection is as good as before


async def test_a_watch_of_a_directory_that_goes_ends_and_says_so(agentctl: Agentctl, link: AgentLink) -> None:
    (agentctl.workspace / "sub").mkdir()
    async with aclosing(link.watch_dir(f"{agentctl.workspace}/sub")) as changes:
        assert await anext(changes) is None
        (agentctl.workspace / "sub").rmdir()
        with pytest.raises(FileNotFound):
            await anext(changes)


async def test_a_run_has_the_agents_variables_only_where_it_asks(agentctl: Agentctl, link: AgentLink) -> None:
    idle = ProcessSpec(["sleep", "1000"], env={"TOKEN": "agents", "SHARED": "agents"}, cwd="/tmp")
    await link.start_agent(idle, base_offset=0, start_id="one")
    words = ["sh", "-c", "echo $TOKEN,$SHARED"]
    for agent_env, said in ((True, b"agents,own\n"), (False, b",own\n")):
        process = await link.run(ProcessSpec(words, env={"SHARED": "own"}, cwd="/tmp", agent_env=agent_env))
        assert (await both(process))[1] == said
        assert process.pid > 0
    missing = await link.run(ProcessSpec(["no-such-program"], cwd="/tmp"))
    assert missing.pid == 0


async def test_idle_runs_until_it_is_told_to_end(agentctl: Agentctl, link: AgentLink) -> None:
    await link.start_agent(ProcessSpec([*agentctl.binary, "idle"], cwd="/tmp"), base_offset=0, start_id="one")
    assert (await link.status()).state == "running"
    ended = await link.drain(1000)
    assert ended in (ExitStatus(code=0), ExitStatus(signal=15))  # the latter before it could listen
