"""What was committed, in order, and a wait for more. Implements ``ports.service.Changes``.

One question to the database at a time however many wait: a server's open pages all ask here.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.service.records import Change
from moorage.ports.service import Page
from moorage.store import tables
from moorage.store.database import Database
from moorage.store.ledger import REVISION, Ledger

LOOK_EVERY: Final = 0.25
"""Seconds between two looks for what other processes wrote. Our own writes are told at once."""

_columns = tables.changes.c
_Waiting = dict[asyncio.Future[None], int]


class SqlChanges:
    """``close`` before the database is closed."""

    def __init__(self, database: Database, ledger: Ledger):
        self._database = database
        self._waiting: _Waiting = {}
        self._look = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        ledger.listen(self._look.set)

    async def after(self, revision: int, limit: int = 500) -> Page:
        """See ``ports.service.Page``. Also too old: a revision that was never given out, as of a database
        that was put back."""

        async def work(connection: AsyncConnection) -> Page:
            newest = await _newest(connection)
            oldest: int | None = (
                await connection.execute(sa.select(sa.func.min(_columns.revision)))
            ).scalar()
            if revision > newest or revision < (newest if oldest is None else oldest - 1):
                return Page((), newest, too_old=True)
            query = (
                sa.select(tables.changes)
                .where(_columns.revision > revision)
                .order_by(_columns.revision)
                .limit(limit)
            )
            rows = await connection.execute(query)
            return Page([Change(*row) for row in rows], newest)

        return await self._database.read(work)

    async def wait(self, revision: int, seconds: float) -> bool:
        """Whether there is a change after ``revision``; at the latest after ``seconds``."""
        if await self._database.read(_newest) > revision:
            return True
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = revision
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._watch())
        try:
            await asyncio.wait([future], timeout=seconds)
            if not future.done():
                return False
            future.result()  # raises what the look met
            return True
        finally:
            del self._waiting[future]
            future.cancel()

    async def close(self) -> None:
        """End the look; who still waits learns of nothing."""
        if self._looking is not None:
            self._looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._looking

    async def _watch(self) -> None:
        while self._waiting:
            self._look.clear()
            try:
                newest = await self._database.read(_newest)
            except Exception as problem:
                for future in self._waiting:
                    if not future.done():
                        future.set_exception(problem)
                return
            for future, revision in self._waiting.items():
                if newest > revision and not future.done():
                    future.set_result(None)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._look.wait(), LOOK_EVERY)


async def _newest(connection: AsyncConnection) -> int:
    query = sa.select(tables.counters.c.value).where(tables.counters.c.name == REVISION)
    return (await connection.execute(query)).scalar_one_or_none() or 0
