"""Transcripts: every byte once at its offset, what is missing is a gap, never silence."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.errors import NotFound, StoreError
from moorage.ports.link import Gap, Output
from moorage.ports.store import Lease, Store
from moorage.store import open_store
from tests.store.homes import Home
from tests.store.samples import leased

S = "s00000000001"

CASES: dict[str, tuple[list[Output | Gap], list[Output | Gap]]] = {
    "nothing": ([], []),
    "pieces join": ([Output(0, b"ab"), Output(2, b"cd")], [Output(0, b"abcd")]),
    "a repeat is ignored": ([Output(0, b"abcd"), Output(1, b"XX")], [Output(0, b"abcd")]),
    "an overlap adds its tail": ([Output(0, b"abcd"), Output(2, b"XXef")], [Output(0, b"abcdef")]),
    "bytes above the end leave a gap": (
        [Output(0, b"ab"), Output(5, b"f")],
        [Output(0, b"ab"), Gap(2, 3), Output(5, b"f")],
    ),
    "a first byte above zero": ([Output(5, b"f")], [Gap(0, 5), Output(5, b"f")]),
    "a known gap": ([Gap(0, 3), Output(3, b"d")], [Gap(0, 3), Output(3, b"d")]),
    "gaps side by side are one": ([Gap(0, 3), Gap(3, 2), Gap(6, 1)], [Gap(0, 7)]),
    "a gap over bytes we have counts from the end": (
        [Output(0, b"abc"), Gap(1, 4)],
        [Output(0, b"abc"), Gap(3, 2)],
    ),
    "a gap below the end is a repeat": ([Output(0, b"abc"), Gap(0, 2), Gap(1, None)], [Output(0, b"abc")]),
    "an unknown gap has no width and is told once": (
        [Output(0, b"ab"), Gap(2, None), Gap(2, None), Output(2, b"cd")],
        [Output(0, b"ab"), Gap(2, None), Output(2, b"cd")],
    ),
    "an unknown gap further on": (
        [Output(0, b"a"), Gap(4, None), Output(4, b"e")],
        [Output(0, b"a"), Gap(1, 3), Gap(4, None), Output(4, b"e")],
    ),
    "an unknown gap at the very end": ([Output(0, b"a"), Gap(1, None)], [Output(0, b"a"), Gap(1, None)]),
    "no bytes say nothing": ([Output(7, b""), Output(0, b"a")], [Output(0, b"a")]),
}


@pytest.mark.parametrize("case", CASES)
async def test_what_was_appended_is_read(store: Store, case: str) -> None:
    appended, expected = CASES[case]
    lease = await leased(store)
    for item in appended:
        await store.transcripts.append(S, item, lease)
    assert await store.transcripts.read(S, 0) == expected


async def test_a_loss_before_the_first_byte_is_told_to_who_begins_there(store: Store) -> None:
    lease = await leased(store)
    assert await store.transcripts.read(S, -1) == []
    await store.transcripts.append(S, Gap(0, None), lease)
    assert await store.transcripts.read(S, -1) == [Gap(0, None)]
    assert await store.transcripts.read(S, 0) == []
    await store.transcripts.append(S, Output(0, b"a"), lease)
    assert await store.transcripts.read(S, -1) == [Gap(0, None), Output(0, b"a")]


@pytest.mark.parametrize("item", [Gap(1 << 62, 1 << 62), Gap(1 << 63, None), Output(1 << 62, b"a")])
async def test_a_place_that_no_transcript_reaches_is_refused_and_nothing_stored(
    store: Store, item: Output | Gap
) -> None:
    lease = await leased(store)
    with pytest.raises(StoreError, match="cannot be kept"):
        await store.transcripts.append(S, item, lease)
    assert await store.transcripts.end(S) == 0


async def test_a_session_that_does_not_exist_has_no_transcript(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.transcripts.read("nobody", 0)
    with pytest.raises(NotFound):
        await store.transcripts.end("nobody")


async def test_reading_on_in_small_steps_yields_every_byte_once(store: Store) -> None:
    lease = await leased(store)
    data = bytes(range(256)) * 1000  # several rows, none of a size that 7001 divides
    assert await store.transcripts.append(S, Output(0, data), lease) == len(data)
    await store.transcripts.append(S, Gap(len(data), None), lease)
    end = await store.transcripts.append(S, Output(len(data), b"after"), lease)
    offset, got, gaps = 0, b"", 0
    while items := await store.transcripts.read(S, offset, limit=7001):
        assert sum(len(i.data) for i in items if isinstance(i, Output)) <= 7001
        for item in items:
            if isinstance(item, Output):
                got += item.data
                offset = item.offset + len(item.data)
            else:
                gaps += 1
    assert (got, offset, gaps) == (data + b"after", end, 1)


async def test_beyond_the_limit_the_oldest_bytes_become_a_gap_and_rows_do_not_pile_up(
    home: Home,
) -> None:
    store = await home.open(output_limit=100_000)
    lease = await leased(store)
    data = bytes(i % 251 for i in range(300_000))
    for start in range(0, len(data), 30_000):
        await store.transcripts.append(S, Output(start, data[start : start + 30_000]), lease)
    assert await store.transcripts.read(S, 0) == [Gap(0, 200_000), Output(200_000, data[200_000:])]
    assert await store.transcripts.read(S, 150_000, limit=10) == [
        Gap(150_000, 50_000),
        Output(200_000, data[200_000:200_010]),
    ]
    await store.close()
    assert len(await home.held()) < 700_000


class Model:
    """A transcript as a plain byte list: None is a byte that is not held, marks are unknown gaps."""

    def __init__(self, limit: int):
        self.bytes: list[int | None] = []
        self.marks: list[int] = []
        self.limit = limit

    def append(self, item: Output | Gap) -> None:
        end = len(self.bytes)
        if isinstance(item, Output):
            if item.offset + len(item.data) > end and item.data:
                self.bytes += [None] * (item.offset - end)
                self.bytes += item.data[max(0, end - item.offset) :]
        else:
            self.bytes += [None] * (item.offset + (item.length or 0) - end)
            if item.length is None and item.offset >= end and item.offset not in self.marks:
                self.marks.append(item.offset)
        held = [i for i, byte in enumerate(self.bytes) if byte is not None]
        for i in held[: max(0, len(held) - self.limit)]:
            self.bytes[i] = None


def bytes_of(items: list[Output | Gap], start: int) -> list[int | None]:
    """What a reader knows after ``items``; checks that they follow each other without holes."""
    known: list[int | None] = []
    for item in items:
        assert item.offset == start + len(known)
        known += item.data if isinstance(item, Output) else [None] * (item.length or 0)
    return known


outputs = st.builds(Output, st.integers(0, 60), st.binary(max_size=25))
gaps = st.builds(Gap, st.integers(0, 60), st.none() | st.integers(0, 20))


@given(
    items=st.lists(outputs | gaps, max_size=12),
    limit=st.integers(1, 60),
    offset=st.integers(0, 80),
    step=st.integers(1, 30),
)
@settings(max_examples=60, deadline=None)
def test_any_mix_of_appends_reads_like_a_plain_byte_list(
    items: list[Output | Gap], limit: int, offset: int, step: int
) -> None:
    async def story(folder: Path) -> None:
        store = await open_store(folder, output_limit=limit)
        try:
            lease: Lease = await leased(store)
            model = Model(limit)
            for item in items:
                model.append(item)
                assert await store.transcripts.append(S, item, lease) == len(model.bytes)
            at, known = offset, list[int | None]()
            while part := await store.transcripts.read(S, at, limit=step):
                known += bytes_of(part, at)
                at = offset + len(known)
            assert known == model.bytes[offset:]
            everything = await store.transcripts.read(S, 0)
            assert bytes_of(everything, 0) == model.bytes
            held_from = next((i for i, byte in enumerate(model.bytes) if byte is not None), None)
            told = [i.offset for i in everything if isinstance(i, Gap) and i.length is None]
            assert set(told) <= set(model.marks)
            if held_from is not None:
                assert {m for m in model.marks if m > held_from} <= set(told)
        finally:
            await store.close()

    with TemporaryDirectory() as folder:
        asyncio.run(story(Path(folder)))


async def test_what_was_delivered_only_ever_grows(store: Store) -> None:
    lease = await leased(store)
    assert await store.transcripts.delivered(S) == 0
    await store.transcripts.append(S, Output(0, b"0123456789"), lease)
    await store.transcripts.mark_delivered(S, 7)
    await store.transcripts.mark_delivered(S, 3)
    assert await store.transcripts.delivered(S) == 7
    with pytest.raises(NotFound):
        await store.transcripts.delivered("none")
