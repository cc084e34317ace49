"""Who may write to a session. Implements ``ports.store.Leases``; ``require`` guards the other writers.

Guarantees: at most one lease is current per session; its fence is higher than that of all before it,
also of released ones. Assumes only that the database's clock does not stand still: when it jumps, a
lease may change hands early, and the fence still keeps the old holder's writes out.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.errors import Conflict, NotFound
from moorage.ports.store import Lease, Owner
from moorage.store import tables
from moorage.store.database import Database, database_now
from moorage.store.owners import current_owner, describe, died_here

_columns = tables.leases.c


async def require(connection: AsyncConnection, session_id: str, lease: Lease) -> None:
    """Conflict unless ``lease`` is the session's current one; it stays so until this transaction ends.

    A lease that ran out but that nobody took over is still the current one: nobody else can have
    written meanwhile.
    """
    row = await _locked(connection, session_id)
    if row is None:
        raise NotFound(f"there is no session {session_id}", field=session_id)
    if lease.session_id != session_id or (row.fence, row.owner) != (lease.fence, lease.owner):
        holder = describe(Owner(row.host, row.pid, row.started), current_owner()) if row.owner else "nobody"
        raise Conflict(
            f"session {session_id} is no longer ours to change: fence {lease.fence} is over, "
            f"now {holder} holds it (fence {row.fence})",
            field=session_id,
            hint="the other process goes on with it; look with: moorage ls",
        )


async def _locked(connection: AsyncConnection, session_id: str) -> sa.Row[Any] | None:
    query = sa.select(
        _columns.fence,
        _columns.owner,
        _columns.host,
        _columns.pid,
        _columns.started,
        (_columns.expires_at > database_now()).label("alive"),
    ).where(_columns.session_id == session_id)
    # A row lock on PostgreSQL; on SQLite the write transaction keeps all others out.
    return (await connection.execute(query.with_for_update())).one_or_none()


class SqlLeases:
    """Leases as rows; one exists, held by nobody, from the moment its session is added."""

    def __init__(self, database: Database):
        self._database = database

    async def acquire(self, session_id: str, owner: Owner, *, ttl: float = 15.0) -> Lease | None:
        """None while a lease lives, also one of this very process: two of its tasks must not drive one
        session. ``took_over`` wherever the last owner did not let go: also what a dead one had sent may still
        arrive. ``ttl`` in seconds of database time. NotFound: no such session."""

        async def work(connection: AsyncConnection) -> Lease | None:
            row = await _locked(connection, session_id)
            if row is None:
                raise NotFound(f"there is no session {session_id}", field=session_id)
            held = bool(row.owner)
            dead = held and died_here(Owner(row.host, row.pid, row.started), owner)
            if held and not dead and bool(row.alive):
                return None
            values = {"owner": str(owner), "host": owner.host, "pid": owner.pid, "started": owner.started}
            await connection.execute(
                sa.update(tables.leases)
                .where(_columns.session_id == session_id)
                .values(fence=row.fence + 1, expires_at=database_now() + ttl, **values)
            )
            return Lease(session_id, row.fence + 1, str(owner), took_over=held)

        return await self._database.write("leases.acquire", work)

    async def renew(self, lease: Lease, *, ttl: float = 15.0) -> bool:
        """Let it live for ``ttl`` seconds from now; False when it was lost."""

        async def work(connection: AsyncConnection) -> bool:
            done = await connection.execute(
                _where_current(sa.update(tables.leases), lease).values(expires_at=database_now() + ttl)
            )
            return done.rowcount == 1

        return await self._database.write("leases.renew", work)

    async def release(self, lease: Lease) -> None:
        """Let others have it at once. Repeatable; no effect when it was lost."""

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(_where_current(sa.update(tables.leases), lease).values(owner=""))

        await self._database.write("leases.release", work)

    async def holder(self, session_id: str) -> str:
        """Who holds it, for messages; "" when nobody does, or the lease ran out."""

        async def work(connection: AsyncConnection) -> str:
            query = sa.select(_columns.host, _columns.pid, _columns.started).where(
                _columns.session_id == session_id,
                _columns.expires_at > database_now(),
                _columns.owner != "",
            )
            row = (await connection.execute(query)).one_or_none()
            return describe(Owner(row.host, row.pid, row.started), current_owner()) if row else ""

        return await self._database.read(work)


def _where_current(statement: sa.Update, lease: Lease) -> sa.Update:
    return statement.where(
        _columns.session_id == lease.session_id,
        _columns.fence == lease.fence,
        _columns.owner == lease.owner,
    )
