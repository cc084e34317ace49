"""A session whose record cannot be read: seen, never acted upon, and its record goes only when forced."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from moorage.core.errors import Conflict, NotFound, StoreError
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.session import Phase, Session, State, change
from moorage.store import records

from .stage import Stage


def spoil(folder: Path, session: Session, *, wholly: bool = False) -> None:
    """A newer Moorage has written the record; ``wholly``: no word of it is left."""
    record = json.loads(records.to_row(session)["record"])
    record["inventory"]["snapshot"]["helper"] = {"source": "oci", "layers": []}
    text = "\0" if wholly else json.dumps(record)
    with contextlib.closing(sqlite3.connect(folder / "data" / "moorage.db")) as database, database:
        database.execute("UPDATE sessions SET record = ? WHERE id = ?", (text, session.id))


@pytest.fixture
async def lost(stage: Stage, tmp_path: Path) -> Session:
    session = await stage.running(env={"TOKEN": "planted"})
    spoil(tmp_path, session)
    stage.cluster.calls.clear()
    stage.said.clear()
    return session


async def test_it_stands_in_the_list_as_unknown_with_the_reason(stage: Stage, lost: Session) -> None:
    (row,) = await stage.verbs.list_views()
    assert row == await stage.verbs.view("calm-cove")
    assert (row.word, row.observed_at, row.session.name) == ("Unknown", 0.0, "calm-cove")
    assert "cannot be read" in row.unknown
    assert (await stage.verbs.events("calm-cove")) != []
    assert await stage.verbs.list_views(namespace="another") == []
    assert stage.cluster.calls == []


async def test_rm_refuses_and_says_what_force_would_leave(stage: Stage, lost: Session) -> None:
    with pytest.raises(StoreError, match="nothing is deleted") as refused:
        await stage.verbs.remove("calm-cove", stage.said.append)
    assert refused.value.exit_code == 1
    for told in (*objects(lost), "moorage rm --force calm-cove", f"moorage.dev/session-id={lost.id}"):
        assert told in refused.value.hint
    assert len(await stage.store.sessions.unreadable()) == 1


def objects(session: Session) -> tuple[str, ...]:
    inventory = session.inventory
    return (
        f"pod/{inventory.pod_name} (uid {inventory.pod_uid}) in namespace agents on https://api.test",
        f"pvc/{inventory.claim_name} (uid {inventory.claim_uid}) in namespace agents on https://api.test",
    )


async def test_forced_it_says_what_may_be_left_then_removes_the_record_and_nothing_else(
    stage: Stage, lost: Session
) -> None:
    dry = await stage.verbs.remove("calm-cove", stage.said.append, force=True, dry_run=True)
    assert len(await stage.store.sessions.unreadable()) == 1
    done = await stage.verbs.remove("calm-cove", stage.said.append, force=True)
    assert done == dry
    assert done.deletes == ()
    said = " ".join(progress.message for progress in stage.said)
    for told in objects(lost):
        assert told in said
        assert any(told in line for line in done.keeps)
    assert stage.cluster.calls == [], "the cluster was not even asked"
    assert len(stage.cluster.of(PODS)) == len(stage.cluster.of(CLAIMS)) == 1
    assert await stage.verbs.list_views(include_archived=True) == []
    for ref in (lost.inventory.bootstrap_ref, lost.agent.env_ref):
        with pytest.raises(NotFound):
            await stage.store.secrets.get(ref)
    with pytest.raises(NotFound):
        await stage.verbs.view("calm-cove")


async def test_of_a_record_without_a_word_left_names_and_labels_follow_from_the_id(
    stage: Stage, lost: Session, tmp_path: Path
) -> None:
    spoil(tmp_path, lost, wholly=True)
    done = await stage.verbs.remove(lost.id, stage.said.append, force=True)
    pod, claim = done.keeps
    assert pod.startswith(f"pod/{lost.inventory.pod_name} (uid not on record)")
    assert claim.startswith(f"pvc/{lost.inventory.claim_name} (uid not on record)")
    assert f"kubectl -A get pods,pvc -l moorage.dev/session-id={lost.id}" in stage.said[-1].message
    with pytest.raises(NotFound):
        await stage.store.secrets.get(lost.inventory.bootstrap_ref)


async def test_one_that_another_process_holds_is_kept(stage: Stage, lost: Session) -> None:
    """A newer Moorage drives it, and can read it."""
    other = replace(stage.parts.owner, host="another-host")
    assert await stage.store.leases.acquire(lost.id, other) is not None
    with pytest.raises(Conflict, match="is driven by"):
        await stage.verbs.remove("calm-cove", stage.said.append, force=True)
    assert len(await stage.store.sessions.unreadable()) == 1


async def test_an_archived_one_is_listed_only_on_request(stage: Stage, tmp_path: Path) -> None:
    session = await stage.running()
    await stage.verbs.archive("calm-cove", stage.said.append)
    archived = change(session, state=State(Phase.ARCHIVED, stage.clock.now()))
    spoil(tmp_path, archived)
    assert await stage.verbs.list_views() == []
    assert len(await stage.verbs.list_views(include_archived=True)) == 1
