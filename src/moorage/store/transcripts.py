"""Output of agents, one byte sequence per session. Implements ``ports.store.Transcripts``.

Rows follow each other without holes: each holds bytes, or is a gap. The ``transcripts`` row says from
which offset on bytes are held; below it everything counts as one gap, though the row that crosses it is
removed only as a whole.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.errors import NotFound, StoreError
from moorage.ports.link import Gap, Output
from moorage.ports.store import Lease
from moorage.store import tables
from moorage.store.database import Database
from moorage.store.leases import require
from moorage.store.reading import Collector

ROW_BYTES = 64 * 1024
"""Most bytes in a row."""
JOIN_BELOW = 4 * 1024
"""Output joins the last row while that is smaller: an agent that prints line by line makes few rows,
and little is written twice."""
FURTHEST = 1 << 62
"""No transcript reaches so far: a place beyond it was invented, and databases take 64 bits."""
_PAGE_ROWS = 64

_rows = tables.chunks.c
_heads = tables.transcripts.c


class _Head:
    """A transcript's counters while one transaction changes them."""

    def __init__(self, session_id: str, first: int, end: int, held: int, next_seq: int):
        self.session_id = session_id
        self.first = first
        self.end = end
        self.held = held
        self.next_seq = next_seq


class SqlTranscripts:
    """``limit``: bytes of output held a session."""

    def __init__(self, database: Database, limit: int):
        self._database = database
        self._limit = limit

    async def append(self, session_id: str, item: Output | Gap, lease: Lease) -> int:
        """Store bytes (durably, before returning); returns the new end. Bytes below the end are ignored
        (a repeat), bytes above it leave a gap on record. Conflict when the lease is over, StoreError for a
        place that no transcript reaches."""
        _check_place(item)

        async def work(connection: AsyncConnection) -> int:
            await require(connection, session_id, lease)
            head = await _head(connection, session_id)
            before = head.end
            if isinstance(item, Output):
                await _add_output(connection, head, item)
            else:
                await _add_gap(connection, head, item)
            await _drop_oldest(connection, head, self._limit)
            await _store_head(connection, head)
            assert head.end >= before
            return head.end

        return await self._database.write("transcripts.append", work)

    async def read(self, session_id: str, offset: int, limit: int = 1 << 20) -> list[Output | Gap]:
        """Up to ``limit`` bytes from ``offset``, neighbours joined; [] at the end.

        Reading on from where the last item ended yields every byte once. A gap of unknown length at the
        very end is told to a reader that comes from below it (with an ``offset`` of -1 also where there is
        no byte below it), and again once bytes follow it.
        """

        async def work(connection: AsyncConnection) -> list[Output | Gap]:
            head = await _head(connection, session_id)
            if offset >= head.end:
                return []
            place = max(offset, head.first)
            collector = Collector(max(offset, 0), limit)
            collector.skip_to(head.first)
            after = -1
            while not collector.full:
                page = await _page(connection, session_id, place, after)
                for row in page:
                    collector.take(row.start_offset, row.end_offset, row.data)
                if len(page) < _PAGE_ROWS:
                    break
                after = page[-1].seq
            return collector.items()

        return await self._database.read(work)

    async def end(self, session_id: str) -> int:
        """The offset after the last byte known of, kept or not. NotFound: no such session."""

        async def work(connection: AsyncConnection) -> int:
            return (await _head(connection, session_id)).end

        return await self._database.read(work)

    async def delivered(self, session_id: str) -> int:
        """The offset after the last byte that a person following the agent was given. NotFound: as `end`."""

        async def work(connection: AsyncConnection) -> int:
            query = sa.select(_heads.delivered).where(_heads.session_id == session_id)
            found: int | None = (await connection.execute(query)).scalar_one_or_none()
            if found is None:
                raise NotFound(f"there is no session {session_id}", field=session_id)
            return found

        return await self._database.read(work)

    async def mark_delivered(self, session_id: str, offset: int) -> None:
        """Raise it to ``offset``, never lower it. Needs no lease: whoever follows may."""

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(
                sa.update(tables.transcripts)
                .where(_heads.session_id == session_id, _heads.delivered < offset)
                .values(delivered=offset)
            )

        await self._database.write("transcripts.mark_delivered", work)


def _check_place(item: Output | Gap) -> None:
    size = len(item.data) if isinstance(item, Output) else item.length or 0
    if item.offset + size > FURTHEST:
        raise StoreError(f"output at byte {item.offset} cannot be kept: no transcript reaches so far")


async def _head(connection: AsyncConnection, session_id: str) -> _Head:
    query = sa.select(tables.transcripts).where(_heads.session_id == session_id)
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise NotFound(f"there is no session {session_id}", field=session_id)
    return _Head(row.session_id, row.first, row.end_offset, row.held, row.next_seq)


async def _store_head(connection: AsyncConnection, head: _Head) -> None:
    await connection.execute(
        sa.update(tables.transcripts)
        .where(_heads.session_id == head.session_id)
        .values(first=head.first, end_offset=head.end, held=head.held, next_seq=head.next_seq)
    )


async def _page(connection: AsyncConnection, session_id: str, offset: int, after: int) -> list[sa.Row[Any]]:
    query = (
        sa.select(_rows.seq, _rows.start_offset, _rows.end_offset, _rows.data)
        .where(_rows.session_id == session_id, _rows.end_offset >= offset, _rows.seq > after)
        .order_by(_rows.seq)
        .limit(_PAGE_ROWS)
    )
    return list(await connection.execute(query))


async def _last(connection: AsyncConnection, session_id: str) -> sa.Row[Any] | None:
    query = sa.select(tables.chunks).where(_rows.session_id == session_id).order_by(_rows.seq.desc()).limit(1)
    return (await connection.execute(query)).one_or_none()


async def _add_output(connection: AsyncConnection, head: _Head, item: Output) -> None:
    data = item.data[max(0, head.end - item.offset) :]
    if not data:
        return
    await _add_gap(connection, head, Gap(head.end, item.offset - head.end))
    head.held += len(data)
    last = await _last(connection, head.session_id)
    if last is not None and last.data is not None and len(last.data) < JOIN_BELOW:
        room = ROW_BYTES - len(last.data)
        head.end += len(data[:room])
        await connection.execute(
            _this_row(sa.update(tables.chunks), head.session_id, last.seq).values(
                data=last.data + data[:room], end_offset=head.end
            )
        )
        data = data[room:]
    for start in range(0, len(data), ROW_BYTES):
        await _insert(connection, head, data[start : start + ROW_BYTES])


async def _add_gap(connection: AsyncConnection, head: _Head, gap: Gap) -> None:
    """Known gaps next to each other are one; an unknown one is kept once per place."""
    width = gap.offset + (gap.length or 0) - head.end
    last = await _last(connection, head.session_id) if width > 0 or gap.length is None else None
    if width > 0:
        if last is not None and last.data is None and last.start_offset < last.end_offset:
            head.end += width
            update = _this_row(sa.update(tables.chunks), head.session_id, last.seq)
            await connection.execute(update.values(end_offset=head.end))
        else:
            await _insert(connection, head, None, width)
    if gap.length is None and width >= 0:
        repeated = width == 0 and last is not None and last.start_offset == last.end_offset
        if not repeated:
            await _insert(connection, head, None, 0)


async def _insert(connection: AsyncConnection, head: _Head, data: bytes | None, width: int = 0) -> None:
    start = head.end
    head.end += width if data is None else len(data)
    await connection.execute(
        sa.insert(tables.chunks).values(
            session_id=head.session_id, seq=head.next_seq, start_offset=start, end_offset=head.end, data=data
        )
    )
    head.next_seq += 1


async def _drop_oldest(connection: AsyncConnection, head: _Head, limit: int) -> None:
    """Raise ``first`` until no more than ``limit`` bytes are held; remove rows wholly below it."""
    after = -1
    while head.held > limit:
        query = (
            sa.select(_rows.seq, _rows.start_offset, _rows.end_offset, _rows.data.is_(None).label("gap"))
            .where(_rows.session_id == head.session_id, _rows.seq > after)
            .order_by(_rows.seq)
            .limit(_PAGE_ROWS)
        )
        for row in list(await connection.execute(query)):
            after = row.seq
            start = max(row.start_offset, head.first)
            width = row.end_offset - start
            dropped = width if row.gap else min(width, head.held - limit)
            head.held -= 0 if row.gap else dropped
            head.first = start + dropped
            if head.held <= limit:
                break
    if after >= 0:
        whole = sa.and_(
            _rows.session_id == head.session_id,
            _rows.seq <= after,
            _rows.end_offset <= head.first,
        )
        await connection.execute(sa.delete(tables.chunks).where(whole))


def _this_row(statement: sa.Update, session_id: str, seq: int) -> sa.Update:
    return statement.where(_rows.session_id == session_id, _rows.seq == seq)
