"""Repeated requests, the audit trail and the index of sessions."""

from __future__ import annotations

import asyncio

from moorage.core.session import Phase, State, change
from moorage.ports.service import InventoryRow, Remembered, ServiceStore
from moorage.store import SqlStore
from tests.store.homes import Home
from tests.store.samples import ELSEWHERE
from tests.store.service.samples import a_session_of, peopled


async def test_of_requests_with_one_key_one_acts_and_the_others_get_its_answer(service: ServiceStore) -> None:
    answers = service.idempotency
    claims = await asyncio.gather(*(answers.claim("u1", "key", b"request") for _ in range(5)))
    assert claims.count(None) == 1
    assert claims.count(Remembered(b"request", 0, b"")) == 4
    await answers.answer("u1", "key", 201, b"made")
    assert await answers.claim("u1", "key", b"another") == Remembered(b"request", 201, b"made")
    assert await answers.claim("u2", "key", b"request") is None
    await answers.answer("u1", "key", 0, b"")
    assert await answers.claim("u1", "key", b"another") is None


async def test_an_answer_that_shows_a_token_is_not_kept_in_clear(home: Home, store: SqlStore) -> None:
    await store.service.idempotency.claim("u1", "key", b"request")
    await store.service.idempotency.answer("u1", "key", 201, b'{"token": "moor_planted"}')
    assert b"moor_planted" not in await home.held()


async def test_an_audit_row_is_begun_and_completed_once(service: ServiceStore) -> None:
    audit = service.audit
    first = await audit.begin("u1", "browser", "session.create", "t1")
    second = await audit.begin("", "token", "session.exec", "s\0\udcff" + "x" * 5000)
    await audit.complete(first, "allowed", 201, "made")
    await audit.complete(first, "failed", 500)
    newest, oldest = await audit.rows()
    assert (oldest.outcome, oldest.status, oldest.detail) == ("allowed", 201, "made")
    assert (newest.id, newest.outcome, newest.status, len(newest.target)) == (second, "begun", 0, 2000)
    assert [row.id for row in await audit.rows(before=second)] == [first]
    assert [row.id for row in await audit.rows(actor="u1")] == [first]
    assert [row.id for row in await audit.rows(target="t1", limit=1)] == [first]


async def test_the_index_tells_sessions_of_an_executor_that_are_not_over(store: SqlStore) -> None:
    index = store.service.inventory
    await peopled(store.service)
    for number, of in enumerate([("e1", "p1", "t1"), ("e1", "p1", "ad-hoc"), ("e2", "p2", "t1")], 1):
        await store.sessions.add(a_session_of(*of, number=number))
    first = InventoryRow("s00000000001", "t1", "p1", "u2", "configured", 1000.5, readable=True)
    adhoc = InventoryRow("s00000000002", "ad-hoc", "p1", "", "configured", 1000.5, readable=True)
    assert await index.rows("e1") == [first, adhoc]
    assert await index.rows("e1", owner="u2") == await index.rows("e1", task_id="t1") == [first]
    assert await index.rows("e1", session_id="s00000000002") == [adhoc]
    assert await index.rows("e1", owner="u1") == []
    lease = await store.leases.acquire("s00000000001", ELSEWHERE)
    assert lease is not None
    archived = change(a_session_of(), state=State(Phase.ARCHIVED, 2.0))
    await store.sessions.save(archived, lease)
    assert await index.rows("e1") == [adhoc]
    assert [await index.active_count(name) for name in ("e1", "e2", "e3")] == [1, 1, 0]


async def test_a_session_whose_record_cannot_be_read_is_counted_and_told(home: Home, store: SqlStore) -> None:
    await store.sessions.add(a_session_of())
    await home.spoil("record")
    index = store.service.inventory
    (row,) = await index.rows("e1")
    assert not row.readable
    assert await index.active_count("e1") == 1
    await home.spoil("executor_id", "")
    assert [await index.active_count(name) for name in ("e1", "e2")] == [1, 1]
