"""What a killed launch spooled is removed by a later command, and nothing else is."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from moorage.engine.sources import Sources

KNOWN, KILLED = "aaaaaaaaaaaa", "bbbbbbbbbbbb"


@pytest.fixture
async def sources(tmp_path: Path) -> Sources:
    """One source of a session on record; and all that three launches, killed at three moments, left."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "seed").write_text("seed\n")
    made = Sources(tmp_path / "sources")
    for session_id in (KNOWN, KILLED):
        await made.prepare(str(tree), "", session_id)
    (tmp_path / "sources" / "cccccccccccc.part").write_bytes(b"half a tar")
    work = tmp_path / "sources" / "dddddddddddd-x1y2" / "tree"
    work.mkdir(parents=True)
    (work / "file").write_text("half a clone\n")
    return made


async def on_record() -> Collection[str]:
    return {KNOWN}


def spooled(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "sources").iterdir())


async def test_only_what_a_session_on_record_still_needs_stays(sources: Sources, tmp_path: Path) -> None:
    assert len(spooled(tmp_path)) == 4
    await sources.sweep(on_record)
    assert spooled(tmp_path) == [f"{KNOWN}.tar"]


async def test_a_launch_under_way_keeps_the_sweep_of_another_process_away(
    sources: Sources, tmp_path: Path
) -> None:
    other = Sources(tmp_path / "sources")
    before = spooled(tmp_path)
    async with sources.launching():
        await other.sweep(on_record)
        assert spooled(tmp_path) == before
    await other.sweep(on_record)
    assert spooled(tmp_path) == [f"{KNOWN}.tar"]


async def test_a_session_that_comes_on_record_while_a_sweep_begins_keeps_its_source(
    sources: Sources, tmp_path: Path
) -> None:
    """What is on record is asked for once no launch can be under way any more, never before."""

    async def asked() -> Collection[str]:
        other = Sources(tmp_path / "sources")
        await other.sweep(on_record)  # finds the folder taken, as a launch would
        assert f"{KILLED}.tar" in spooled(tmp_path)
        return {KNOWN, KILLED}

    await sources.sweep(asked)
    assert spooled(tmp_path) == [f"{KNOWN}.tar", f"{KILLED}.tar"]


async def test_without_a_spool_there_is_nothing_to_sweep(tmp_path: Path) -> None:
    await Sources(tmp_path / "sources").sweep(on_record)
    assert list(tmp_path.iterdir()) == []
