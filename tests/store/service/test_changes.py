"""What happened is told in the order of commits, with nothing left out, or it is said that it is too late."""

from __future__ import annotations

import asyncio

import pytest

from moorage.core.errors import Conflict
from moorage.core.session import AgentRun, Desired, Intent, Phase, State, change
from moorage.ports.service import ServiceStore
from moorage.store import SqlStore, ledger
from tests.store.homes import Home
from tests.store.samples import a_session, leased
from tests.store.service.samples import a_session_of, a_user, an_executor, peopled


async def told(service: ServiceStore, after: int = 0) -> list[tuple[str, str, str, str]]:
    page = await service.changes.after(after)
    revisions = [one.revision for one in page.changes]
    assert revisions == list(range(after + 1, page.revision + 1))
    return [(one.kind, one.id, one.owner_id, one.op) for one in page.changes]


async def test_every_change_of_a_row_is_told_once_and_a_refused_one_is_not(service: ServiceStore) -> None:
    await peopled(service)
    assert await told(service) == [
        ("executor", "e1", "", "added"),
        ("profile", "p1", "", "added"),
        ("user", "u1", "", "added"),
        ("user", "u2", "", "added"),
        ("task", "t1", "u2", "added"),
    ]
    with pytest.raises(Conflict):
        await service.executors.add(an_executor())
    await service.tasks.replace(change(await service.tasks.get("t1"), column="doing"))
    await service.executors.delete("e1")
    assert await told(service, 5) == [
        ("task", "t1", "u2", "modified"),
        ("profile", "p1", "", "deleted"),
        ("executor", "e1", "", "deleted"),
    ]


async def test_a_task_that_goes_to_another_person_is_gone_for_the_first_and_new_for_the_second(
    store: SqlStore,
) -> None:
    service = store.service
    await peopled(service)
    await store.sessions.add(a_session_of())
    await service.tasks.replace(change(await service.tasks.get("t1"), owner_id="u1"))
    session = "s00000000001"
    assert await told(service, 5) == [
        ("session", session, "u2", "added"),
        ("session", session, "u2", "deleted"),
        ("session", session, "u1", "added"),
        ("task", "t1", "u2", "deleted"),
        ("task", "t1", "u1", "added"),
    ]


async def test_of_a_session_what_people_see_is_told_and_what_they_do_not_is_not(store: SqlStore) -> None:
    session = a_session()
    lease = await leased(store, session)
    steps = {
        "its output grew": (change(session, output_end=5), 0),
        "its phase": (change(session, state=State(Phase.RUNNING, 2.0)), 1),
        "the same again": (change(session, state=State(Phase.RUNNING, 2.0)), 0),
        "its agent began": (change(session, state=State(Phase.RUNNING, 2.0), run=AgentRun("r1")), 1),
        "its phase and agent": (change(session, state=State(Phase.FAILED, 3.0)), 1),
    }
    for name, (record, count) in steps.items():
        before = (await store.service.changes.after(0)).revision
        await store.sessions.save(record, lease)
        assert [op for *_, op in await told(store.service, before)] == ["modified"] * count, name
    before = (await store.service.changes.after(0)).revision
    await store.sessions.set_intent(session.id, Intent(Desired.DELETED))
    await store.sessions.purge(session.id, lease)
    await store.sessions.purge(session.id, lease)
    assert [op for *_, op in await told(store.service, before)] == ["modified", "deleted"]


async def test_what_is_no_longer_kept_is_said_to_be_too_old(
    service: ServiceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "KEPT", 4)
    monkeypatch.setattr(ledger, "PRUNED_EVERY", 2)
    assert not (await service.changes.after(0)).too_old
    for number in range(10):
        await service.executors.add(an_executor(f"e{number}", f"name-{number}"))
    assert (await service.changes.after(0)).too_old
    assert (await service.changes.after(5)).too_old
    assert (await service.changes.after(11)).too_old, "nobody was ever given that number"
    assert len(await told(service, 6)) == 4
    assert await told(service, 10) == []


async def test_a_page_holds_no_more_than_asked_and_says_how_far_there_is_to_go(service: ServiceStore) -> None:
    await peopled(service)
    page = await service.changes.after(1, limit=2)
    assert [one.revision for one in page.changes] == [2, 3]
    assert page.revision == 5


async def test_who_waits_is_told_at_the_first_change_and_who_waits_in_vain_too(service: ServiceStore) -> None:
    assert not await service.changes.wait(0, 0.0)
    waiting = [asyncio.ensure_future(service.changes.wait(0, 60.0)) for _ in range(50)]
    await asyncio.sleep(0)
    await service.executors.add(an_executor())
    assert all(await asyncio.gather(*waiting))
    assert await service.changes.wait(0, 0.0)
    assert not await service.changes.wait(1, 0.001)


async def test_a_change_of_another_process_is_seen_by_who_waits(home: Home, store: SqlStore) -> None:
    other = await home.open()
    waiting = asyncio.ensure_future(store.service.changes.wait(0, 60.0))
    await asyncio.sleep(0)
    await other.service.users.add(a_user())
    assert await waiting
    await other.close()
