"""Several servers on one PostgreSQL: one owner a session, revisions in the order of commits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa

from moorage.core.errors import Conflict, StoreError, UsageError
from moorage.core.service.records import Role
from moorage.core.session import Phase, State, change
from moorage.ports.store import RECORD_GONE, Owner
from moorage.store import SqlStore, migrate, open_store, tables
from moorage.store.database import connect, database_now
from moorage.store.ledger import REVISION
from tests.postgresql import Server
from tests.store.samples import ELSEWHERE, a_session
from tests.store.service.samples import a_task, a_user, an_executor, peopled

pytestmark = pytest.mark.postgresql
HERE = Owner("server-1", 1, "1")


@pytest.fixture
async def servers(tmp_path: Path, postgresql_url: str) -> AsyncIterator[list[SqlStore]]:
    """Two servers, each with connections of its own, on one database."""
    async with AsyncExitStack() as stack:
        opened = []
        for number in range(2):
            store = await open_store(tmp_path / str(number), database_url=postgresql_url)
            stack.push_async_callback(store.close)
            opened.append(store)
        yield opened


async def test_of_two_servers_one_gets_each_session_and_the_other_s_write_is_refused(
    servers: list[SqlStore],
) -> None:
    first, second = servers
    sessions = [a_session(f"s{number:011}", f"name-{number}") for number in range(8)]
    for session in sessions:
        await first.sessions.add(session)
    for session in sessions:
        taken = await asyncio.gather(
            first.leases.acquire(session.id, HERE), second.leases.acquire(session.id, ELSEWHERE)
        )
        assert sorted(lease is None for lease in taken) == [False, True]
        stale = next(lease for lease in taken if lease)
        await first.leases.renew(stale, ttl=-1.0)
        now = await second.leases.acquire(session.id, Owner("server-3", 3, "3"))
        assert now is not None
        assert now.took_over
        with pytest.raises(Conflict, match="no longer ours"):
            await first.sessions.save(change(session, state=State(Phase.RUNNING, 1.0)), stale)
        assert await second.sessions.get(session.id) == session


async def test_no_revision_is_seen_before_all_below_it(servers: list[SqlStore], postgresql_url: str) -> None:
    """One transaction has its number and has not ended: whoever comes after waits with his."""
    first, second = servers
    engine = connect(postgresql_url)
    async with engine.connect() as slow, slow.begin() as transaction:
        counter = sa.update(tables.counters).where(tables.counters.c.name == REVISION)
        await slow.execute(counter.values(value=tables.counters.c.value + 1))
        row = {
            "revision": 1,
            "at": database_now(),
            "kind": "task",
            "id": "slow",
            "owner_id": "",
            "op": "added",
        }
        await slow.execute(sa.insert(tables.changes).values(row))
        adding = asyncio.ensure_future(second.service.executors.add(an_executor()))
        async with engine.connect() as watch:
            blocked = sa.text(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                "AND datname = current_database()"
            )
            while not (await watch.execute(blocked)).scalar_one():
                await watch.rollback()
        page = await first.service.changes.after(0)
        assert (list(page.changes), page.revision) == ([], 0)
        await transaction.commit()
    await adding
    assert [one.id for one in (await first.service.changes.after(0)).changes] == ["slow", "e1"]
    await engine.dispose()


async def test_who_follows_two_servers_that_write_misses_nothing(servers: list[SqlStore]) -> None:
    first, second = servers
    await peopled(first.service)
    seen: list[int] = []

    async def follow() -> None:
        at = 0
        while len(seen) < 45:
            page = await first.service.changes.after(at)
            seen.extend(one.revision for one in page.changes)
            at = seen[-1] if seen else 0
            await second.service.changes.wait(at, 5.0)

    async def write(store: SqlStore, name: str) -> None:
        for number in range(20):
            await store.service.tasks.add(a_task(f"{name}{number}", "u2"))

    await asyncio.gather(follow(), write(first, "a"), write(second, "b"))
    assert seen == list(range(1, 46))


async def test_two_servers_whose_administrators_demote_each_other_leave_one(servers: list[SqlStore]) -> None:
    """Each holds what the other waits for: PostgreSQL ends one, which then sees what the other did."""
    first, second = servers
    ann, cem = await first.service.users.add(a_user()), await first.service.users.add(a_user("u3", "cem"))
    done = await asyncio.gather(
        first.service.users.replace(change(ann, role=Role.MEMBER)),
        second.service.users.replace(change(cem, role=Role.MEMBER)),
        return_exceptions=True,
    )
    assert [type(one) for one in done].count(Conflict) == 1
    assert await first.service.people.count(Role.ADMINISTRATOR) == 1


async def test_of_servers_that_open_an_empty_database_at_once_one_makes_the_tables(
    tmp_path: Path, postgresql: Server
) -> None:
    name = postgresql.new_database()
    url = postgresql.url(name)
    stores = await asyncio.gather(*(open_store(tmp_path / str(n), database_url=url) for n in range(3)))
    assert len({await store.install_id() for store in stores}) == 1
    for store in stores:
        await store.close()
    postgresql.drop(name)


async def test_a_database_whose_tables_are_gone_is_said_to_be_gone(servers: list[SqlStore]) -> None:
    first, second = servers
    async with second._database.engine.begin() as connection:
        await connection.execute(sa.text("DROP SCHEMA public CASCADE"))
    with pytest.raises(StoreError) as caught:
        await first.sessions.list_all()
    assert caught.value.details == {"state": RECORD_GONE}


async def test_an_older_server_is_refused(
    tmp_path: Path, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "POSTGRESQL", 99)
    with pytest.raises(StoreError, match="99 or newer"):
        await open_store(tmp_path, database_url=postgresql_url)


@pytest.mark.parametrize("url", ["mysql://u:hunter2@h/d", "hunter2", "postgresql://u:hunter2@h:x/d"])
async def test_an_address_that_is_none_is_refused_without_its_password(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError) as caught:
        await open_store(tmp_path, database_url=url)
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"
    assert caught.value.__cause__ is None
