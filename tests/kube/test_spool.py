"""The spool: everything in order, memory bounded, disk bounded, nothing left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moorage.kube.spool import Spool, SpoolFull


async def drain(spool: Spool) -> list[tuple[int, bytes]]:
    found = []
    while (chunk := await spool.get()) is not None:
        found.append(chunk)
    return found


@pytest.mark.parametrize("memory", [0, 10, 10_000], ids=["all on disk", "both", "all in memory"])
async def test_chunks_come_back_in_order(memory: int) -> None:
    spool = Spool(memory=memory)
    chunks = [(1 + n % 2, bytes([n]) * n) for n in range(1, 100)]
    for channel, data in chunks:
        spool.put(channel, data)
    spool.end()
    assert await drain(spool) == chunks


async def test_order_holds_while_reading_and_writing_alternate() -> None:
    spool, expected, got = Spool(memory=8), [], []
    for n in range(200):
        for size in (3, 7):
            expected.append((1, bytes([n]) * size))
            spool.put(*expected[-1])
        if n % 3:
            got += [await spool.get(), await spool.get()]
    spool.end()
    assert [*got, *await drain(spool)] == expected


async def test_a_reader_waits_for_the_writer() -> None:
    spool = Spool()
    reading = asyncio.create_task(spool.get())
    await asyncio.sleep(0)
    assert not reading.done()
    spool.put(1, b"x")
    assert await reading == (1, b"x")


async def test_a_flood_ends_the_stream_and_what_was_kept_can_be_read() -> None:
    spool = Spool(memory=4, limit=10)
    spool.put(1, b"1234")
    spool.put(1, b"5678")
    with pytest.raises(SpoolFull):
        spool.put(1, b"toolong")
    spool.end(SpoolFull("full"))
    assert [await spool.get(), await spool.get()] == [(1, b"1234"), (1, b"5678")]
    with pytest.raises(SpoolFull):
        await spool.get()


async def test_the_file_has_no_name_for_others_to_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool(memory=0)
    spool.put(1, b"secret")
    assert list(tmp_path.iterdir()) == []
    assert await spool.get() == (1, b"secret")
    spool.discard()
