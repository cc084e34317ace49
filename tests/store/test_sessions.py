"""Records: what was saved is what is read; names are unique; wishes and purges keep their promises."""

from __future__ import annotations

import pytest

from moorage.core.errors import Conflict, NotFound, StoreError
from moorage.core.session import AgentExit, AgentRun, Desired, Intent, Phase, State, change
from moorage.ports.link import Output
from moorage.ports.store import Lease, SessionEvent, Store
from tests.store.homes import Home
from tests.store.samples import a_session, leased


async def test_a_record_comes_back_field_for_field_by_id_and_by_name(store: Store) -> None:
    session = a_session()
    await store.sessions.add(session)
    assert await store.sessions.get(session.id) == session
    assert await store.sessions.get(session.name) == session


@pytest.mark.parametrize(
    ("session_id", "name"),
    [
        ("s00000000001", "other-name"),
        ("s00000000002", "brave-otter"),
        ("s00000000002", "s00000000001"),
        ("brave-otter", "other-name"),
    ],
    ids=["same id", "same name", "a name that is another's id", "an id that is another's name"],
)
async def test_a_second_session_of_the_same_name_or_id_is_a_conflict(
    store: Store, session_id: str, name: str
) -> None:
    await store.sessions.add(a_session())
    with pytest.raises(Conflict, match="already"):
        await store.sessions.add(a_session(session_id, name))
    assert [s.id for s in await store.sessions.list_all()] == ["s00000000001"]


async def test_a_session_comes_with_its_secrets_or_neither_does(store: Store) -> None:
    await store.sessions.add(a_session(), {"session:1:env": b"TOKEN=x"})
    assert await store.secrets.get("session:1:env") == b"TOKEN=x"
    with pytest.raises(Conflict):
        await store.sessions.add(a_session("s00000000002"), {"session:2:env": b"TOKEN=y"})
    with pytest.raises(NotFound):
        await store.secrets.get("session:2:env")


async def test_an_unknown_name_is_not_found_and_the_nearest_one_is_offered(store: Store) -> None:
    await store.sessions.add(a_session())
    with pytest.raises(NotFound) as caught:
        await store.sessions.get("brave-oter")
    assert caught.value.hint == "did you mean brave-otter?"


@pytest.mark.parametrize("name", ["x\udcff", "x\0"], ids=["not UTF-8", "NUL"])
async def test_a_name_that_could_not_be_stored_is_not_found_as_any_other(store: Store, name: str) -> None:
    await store.sessions.add(a_session())
    with pytest.raises(NotFound, match="there is no session"):
        await store.sessions.get(name)


async def test_save_replaces_the_record_but_never_the_intent_that_came_in_between(store: Store) -> None:
    lease = await leased(store)
    mine = await store.sessions.get("brave-otter")
    wish = await store.sessions.set_intent(mine.id, Intent(Desired.STOPPED, number=77, at=5.0, force=True))
    saved = await store.sessions.save(
        change(mine, state=State(Phase.RUNNING, 7.0), output_end=9, seen_intent=1), lease
    )
    assert (saved.state.phase, saved.output_end, saved.intent) == (Phase.RUNNING, 9, wish)
    assert await store.sessions.get(mine.id) == saved


async def test_a_wish_needs_no_lease_and_each_one_gets_the_next_number(store: Store) -> None:
    await store.sessions.add(a_session())
    numbers = [
        (await store.sessions.set_intent("s00000000001", Intent(Desired.PAUSED, number=1))).number
        for _ in range(3)
    ]
    assert numbers == [2, 3, 4]
    with pytest.raises(NotFound):
        await store.sessions.set_intent("nobody", Intent(Desired.PAUSED))


async def test_archived_sessions_are_listed_only_on_request_and_keep_their_name(store: Store) -> None:
    lease = await leased(store)
    await store.sessions.add(change(a_session("s00000000002", "younger"), created_at=2000.0))
    session = await store.sessions.get("brave-otter")
    await store.sessions.save(change(session, state=State(Phase.ARCHIVED, 9.0)), lease)
    assert [s.name for s in await store.sessions.list_all()] == ["younger"]
    everything = await store.sessions.list_all(include_archived=True)
    assert [s.name for s in everything] == ["brave-otter", "younger"]
    with pytest.raises(Conflict):
        await store.sessions.add(a_session("s00000000003", "brave-otter"))


async def test_history_keeps_its_order_and_takes_any_text(store: Store) -> None:
    await store.sessions.add(a_session())
    told = [SessionEvent(2.0, "PodCreated", "uid 1"), SessionEvent(1.0, "Odd", "nul \0 surrogate \udc80")]
    for event in told:
        await store.sessions.add_event("s00000000001", event)
    kept = await store.sessions.events("s00000000001")
    assert [(e.at, e.kind) for e in kept] == [(2.0, "PodCreated"), (1.0, "Odd")]
    assert kept[1].message == "nul \ufffd surrogate ?"
    with pytest.raises(NotFound):
        await store.sessions.add_event("nobody", told[0])


async def test_purge_leaves_a_tombstone_with_the_open_nonces_and_frees_the_name(store: Store) -> None:
    lease = await leased(store)
    await store.transcripts.append(lease.session_id, Output(0, b"words of the agent"), lease)
    await store.sessions.add_event(lease.session_id, SessionEvent(1.0, "PodCreated", "uid 1"))
    for _ in range(2):  # repeatable
        await store.sessions.purge(lease.session_id, lease)

    kept = await store.sessions.get(lease.session_id)
    assert kept.state.phase is Phase.DELETED
    assert [n.nonce for n in kept.inventory.nonces] == ["n2"]
    assert kept.inventory.snapshot == a_session().inventory.snapshot
    assert (kept.agent.argv, kept.source) == ((), None)
    assert await store.sessions.events(lease.session_id) == []
    assert await store.transcripts.read(lease.session_id, 0) == []
    assert await store.sessions.list_all(include_archived=True) == []
    with pytest.raises(NotFound):
        await store.sessions.get("brave-otter")
    await store.sessions.add(a_session("s00000000002", "brave-otter"))


async def test_a_tombstone_is_listed_until_its_last_nonce_is_settled_and_never_comes_back(
    store: Store,
) -> None:
    lease = await leased(store)
    await store.sessions.purge(lease.session_id, lease)
    (tombstone,) = await store.sessions.tombstones()
    with pytest.raises(Conflict, match="deleted"):
        await store.sessions.save(change(tombstone, state=State(Phase.RUNNING, 1.0)), lease)
    settled = tuple(change(n, settled=True) for n in tombstone.inventory.nonces)
    await store.sessions.save(change(tombstone, inventory=change(tombstone.inventory, nonces=settled)), lease)
    assert await store.sessions.tombstones() == []
    assert (await store.sessions.get(lease.session_id)).state.phase is Phase.DELETED


STALE = {
    "lower fence": lambda lease: Lease(lease.session_id, lease.fence - 1, lease.owner),
    "higher fence": lambda lease: Lease(lease.session_id, lease.fence + 1, lease.owner),
    "other owner": lambda lease: Lease(lease.session_id, lease.fence, "host:1:1"),
    "other session": lambda lease: Lease("s00000000009", lease.fence, lease.owner),
}


@pytest.mark.parametrize("kind", STALE)
async def test_a_write_under_any_lease_but_the_current_one_changes_nothing(store: Store, kind: str) -> None:
    lease = await leased(store)
    before = await store.sessions.get(lease.session_id)
    stale = STALE[kind](lease)
    with pytest.raises(Conflict):
        await store.sessions.save(change(before, output_end=5), stale)
    with pytest.raises(Conflict):
        await store.transcripts.append(lease.session_id, Output(0, b"x"), stale)
    with pytest.raises(Conflict):
        await store.sessions.purge(lease.session_id, stale)
    assert await store.sessions.get(lease.session_id) == before
    assert await store.transcripts.end(lease.session_id) == 0


async def test_a_record_that_could_not_be_read_again_is_not_written(store: Store) -> None:
    session = a_session()
    lease = await leased(store, session)
    for code in ("0", True, [1], 0.5):
        broken = change(session, run=AgentRun("start", exit=AgentExit(code=code)))  # type: ignore[arg-type]
        with pytest.raises(StoreError, match="malformed"):
            await store.sessions.save(broken, lease)
    assert await store.sessions.get(session.id) == session


@pytest.mark.parametrize("column", ["record", "state", "intent"])
async def test_one_unreadable_row_does_not_hide_the_other_sessions(
    store: Store, home: Home, column: str, caplog: pytest.LogCaptureFixture
) -> None:
    await store.sessions.add(a_session())
    await store.sessions.add(a_session("s00000000002", "calm-cove"))
    await home.spoil(column)
    assert [s.id for s in await store.sessions.list_all()] == ["s00000000002"]
    assert "session s00000000001 cannot be read" in caplog.text
    assert await store.sessions.ids() == {"s00000000001", "s00000000002"}
    with pytest.raises(StoreError, match="cannot be read"):
        await store.sessions.get("s00000000001")
