"""A backup holds all that must survive and nothing to come in with; it is put back whole or not at all."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

import pytest

from moorage.core.errors import Conflict, IntegrityError, StoreError
from moorage.ports.link import Output
from moorage.ports.store import SessionEvent
from moorage.store import SqlStore, open_store
from tests.store.homes import Home
from tests.store.samples import ELSEWHERE, a_session
from tests.store.service.samples import a_sign_in, a_task, a_token, peopled

KEY = bytes(range(32))
PLANTED = b"hunter2-planted"


async def lived_in(store: SqlStore) -> None:
    """Something in every table."""
    session = a_session()
    await peopled(store.service)
    await store.sessions.add(session, {"env/1": PLANTED})
    lease = await store.leases.acquire(session.id, ELSEWHERE)
    assert lease is not None
    await store.transcripts.append(session.id, Output(0, b"bytes \x00\xff"), lease)
    await store.sessions.add_event(session.id, SessionEvent(1.0, "PodCreated", "uid"))
    await store.put_setting("transport", "exec")
    await store.install_id()
    people = store.service.people
    await people.set_password("u1", "$argon2id$hash")
    await people.add_token(a_token(), b"digest")
    await people.sign_in(a_sign_in(), b"cookie")
    await people.offer_link("u1", b"link", 3600.0)
    await store.service.audit.begin("u1", "cli", "backup", "")


async def test_all_that_was_there_is_there_again_also_on_the_other_database(
    home: Home, tmp_path: Path
) -> None:
    store = await home.open(secret_key=KEY)
    await lived_in(store)
    changes = (await store.service.changes.after(0)).revision
    assert await store.back_up(tmp_path / "backup") > 10
    fresh = await open_store(tmp_path / "fresh", secret_key=KEY)
    await fresh.put_back(tmp_path / "backup")
    assert await fresh.sessions.get("brave-otter") == await store.sessions.get("brave-otter")
    assert await fresh.transcripts.read("s00000000001", 0) == [Output(0, b"bytes \x00\xff")]
    assert await fresh.sessions.events("s00000000001") == [SessionEvent(1.0, "PodCreated", "uid")]
    assert await fresh.secrets.get("env/1") == PLANTED
    assert await fresh.install_id() == await store.install_id()
    for part in ("executors", "profiles", "users", "tasks", "tokens"):
        assert await getattr(fresh.service, part).list_all() == await getattr(store.service, part).list_all()
    assert await fresh.service.people.by_token(b"digest") is not None
    assert await fresh.service.people.by_sign_in(b"cookie") is None
    assert await fresh.service.people.take_link(b"link") is None
    before = await store.leases.holder("s00000000001")
    assert before
    lease = await fresh.leases.acquire("s00000000001", ELSEWHERE)
    assert lease is not None
    assert lease.fence > 1000, "agentctl may have seen higher fences than the backup knows"
    assert (await fresh.service.changes.after(changes)).too_old, "who followed before reads anew"
    await fresh.service.tasks.add(a_task("t9", "u1"))
    await fresh.close()
    await store.close()


async def test_a_backup_goes_back_into_the_kind_of_database_it_is_from(home: Home, tmp_path: Path) -> None:
    donor = await open_store(tmp_path / "donor", secret_key=KEY)
    await lived_in(donor)
    await donor.back_up(tmp_path / "backup")
    await donor.close()
    store = await home.open(secret_key=KEY)
    await store.put_back(tmp_path / "backup")
    await store.sessions.add_event("s00000000001", SessionEvent(2.0, "PodDeleted", "uid"))
    assert [event.kind for event in await store.sessions.events("s00000000001")] == [
        "PodCreated",
        "PodDeleted",
    ]
    assert await store.service.audit.begin("u1", "cli", "restore", "") == 2
    with pytest.raises(Conflict, match="records already"):
        await store.put_back(tmp_path / "backup")
    assert [session.id for session in await store.sessions.list_all()] == ["s00000000001"]
    assert await store.get_setting("transport") == "exec", "what was refused took nothing away"
    await store.close()


async def test_no_backup_holds_a_secret_or_the_key(store: SqlStore, home: Home, tmp_path: Path) -> None:
    await lived_in(store)
    await store.service.idempotency.claim("u1", "key", b"request")
    await store.service.idempotency.answer("u1", "key", 201, PLANTED)
    path = tmp_path / "backup"
    await store.back_up(path)
    held = gzip.decompress(path.read_bytes())
    assert b"env/1" in held
    key = (home.folder / "secret.key").read_bytes().strip()
    for planted in (PLANTED, key, bytes.fromhex(key.decode()), b"cookie", b"csrf"):
        assert planted not in held
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_backup_is_made_while_others_write_and_holds_one_moment(
    store: SqlStore, tmp_path: Path
) -> None:
    await peopled(store.service)
    writing = [asyncio.ensure_future(store.service.tasks.add(a_task(f"x{n}", "u1"))) for n in range(10)]
    await store.back_up(tmp_path / "backup")
    await asyncio.gather(*writing)
    fresh = await open_store(tmp_path / "fresh")
    await fresh.put_back(tmp_path / "backup")
    assert len(await fresh.service.tasks.list_all()) <= 11
    await fresh.close()


async def test_what_was_cut_short_or_changed_or_is_no_backup_or_newer_is_refused(
    store: SqlStore, tmp_path: Path
) -> None:
    await peopled(store.service)
    await store.back_up(tmp_path / "backup")
    text = gzip.decompress((tmp_path / "backup").read_bytes())
    lines = text.splitlines(keepends=True)
    spoilt: dict[str, tuple[bytes, type[Exception]]] = {
        "cut": ((tmp_path / "backup").read_bytes()[:-20], IntegrityError),
        "line gone": (gzip.compress(b"".join(lines[:5] + lines[6:])), IntegrityError),
        "end gone": (gzip.compress(b"".join(lines[:-1])), IntegrityError),
        "changed": (gzip.compress(text.replace(b"ann", b"eve")), IntegrityError),
        "other": (gzip.compress(b"notes\n"), StoreError),
        "plain": (b"notes\n", IntegrityError),
        "newer": (newer(text), StoreError),
    }
    fresh = await open_store(tmp_path / "fresh")
    for name, (data, error) in spoilt.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(error):
            await fresh.put_back(tmp_path / name)
        assert await fresh.service.users.list_all() == [], name
    await fresh.close()


def newer(text: bytes) -> bytes:
    """The same of a later schema, its SHA-256 right."""
    import hashlib
    import json

    *body, _ = text.replace(b'"schema":"0002"', b'"schema":"9999"').splitlines(keepends=True)
    rows = sum(line.startswith(b"[") for line in body)
    end = json.dumps({"rows": rows, "sha256": hashlib.sha256(b"".join(body)).hexdigest()})
    return gzip.compress(b"".join(body) + end.encode() + b"\n")


async def test_a_file_that_exists_is_never_written_over(store: SqlStore, tmp_path: Path) -> None:
    (tmp_path / "backup").write_text("mine")
    with pytest.raises(Conflict, match="exists"):
        await store.back_up(tmp_path / "backup")
    with pytest.raises(StoreError):
        await store.back_up(tmp_path / "nowhere" / "backup")
    assert (tmp_path / "backup").read_text() == "mine"
    assert not (tmp_path / "backup.new").exists()
