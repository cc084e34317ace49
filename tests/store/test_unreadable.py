"""Records that this code cannot read: what is left of them is told, and they go when asked, nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.core.errors import Conflict, NotFound
from moorage.core.session import Phase, WorkspaceMode
from moorage.ports.link import Output
from moorage.ports.store import Lease, SessionEvent, Store
from moorage.store import records
from tests.store.homes import Home
from tests.store.samples import ELSEWHERE, a_session, leased

COLUMNS = ("record", "state", "intent")


class Row:
    """A row of the table, as the database gives it."""

    def __init__(self, **columns: Any) -> None:
        self.__dict__.update(columns)


def a_row(**changed: str) -> Any:
    session = a_session()
    return Row(**{**records.to_row(session), **records.intent_columns(session.intent), **changed})


def newer(record: dict[str, Any]) -> None:
    record["inventory"]["snapshot"]["helper"] = {"source": "oci", "layers": []}


def damaged(record: dict[str, Any]) -> None:
    record["inventory"]["nonces"] = 7
    record["agent"] = "x"


@pytest.mark.parametrize("change", [newer, damaged])
def test_what_a_record_still_tells_of_the_cluster_is_rescued(
    change: Callable[[dict[str, Any]], None],
) -> None:
    record = json.loads(a_row().record)
    change(record)
    session = records.rescued(a_row(record=json.dumps(record)))
    whole = a_session()
    assert (session.id, session.name) == (whole.id, whole.name)
    ours, theirs = session.inventory, whole.inventory
    assert (ours.namespace, ours.pod_name, ours.claim_name) == (
        theirs.namespace,
        theirs.pod_name,
        theirs.claim_name,
    )
    assert ours.snapshot.workspace == theirs.snapshot.workspace


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["inventory", "pod_name", "x"]), inner),
    max_leaves=8,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(COLUMNS),
    st.text(max_size=5) | JSON.map(json.dumps),
    st.sampled_from([*Phase, "hibernating"]),
)
def test_any_row_gives_a_session_with_its_name_and_id(column: str, text: str, phase: str) -> None:
    session = records.rescued(a_row(**{column: text, "phase": phase}))
    assert (session.id, session.name) == ("s00000000001", "brave-otter")
    assert isinstance(session.inventory.pod_name, str)
    assert session.inventory.snapshot.workspace.mode in WorkspaceMode


@pytest.mark.parametrize("column", COLUMNS)
async def test_it_is_told_with_the_reason_and_only_it(store: Store, home: Home, column: str) -> None:
    await store.sessions.add(a_session())
    await store.sessions.add(a_session("s00000000002", "calm-cove"))
    assert await store.sessions.unreadable() == []
    await home.spoil(column)
    (found,) = await store.sessions.unreadable()
    assert (found.session.id, found.session.name) == ("s00000000001", "brave-otter")
    assert "cannot be read" in found.why


async def lost(store: Store, home: Home) -> Lease:
    lease = await leased(store)
    await store.transcripts.append(lease.session_id, Output(0, b"words"), lease)
    await store.sessions.add_event(lease.session_id, SessionEvent(1.0, "PodCreated", "uid 1"))
    await home.spoil("record")
    return lease


async def test_discarding_it_leaves_no_trace_and_frees_the_name(store: Store, home: Home) -> None:
    lease = await lost(store, home)
    await store.sessions.discard(lease.session_id, lease)
    assert await store.sessions.unreadable() == []
    assert await store.sessions.ids() == set()
    assert await store.sessions.tombstones() == []
    assert await store.sessions.events(lease.session_id) == []
    assert await store.transcripts.read(lease.session_id, 0) == []
    for name in (lease.session_id, "brave-otter"):
        with pytest.raises(NotFound):
            await store.sessions.get(name)
    await store.sessions.add(a_session("s00000000002", "brave-otter"))


async def test_it_is_discarded_by_its_holder_alone_and_what_can_be_read_never(
    store: Store, home: Home
) -> None:
    await store.sessions.add(a_session("s00000000002", "calm-cove"))
    other = await store.leases.acquire("s00000000002", ELSEWHERE)
    assert other is not None
    with pytest.raises(Conflict, match="can be read"):
        await store.sessions.discard("s00000000002", other)
    lease = await lost(store, home)
    with pytest.raises(Conflict):
        await store.sessions.discard(lease.session_id, Lease(lease.session_id, lease.fence - 1, lease.owner))
    assert [found.session.id for found in await store.sessions.unreadable()] == [lease.session_id]
