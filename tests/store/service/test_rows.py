"""Rows of the service: what was put in comes out, no change is lost to another, nothing in use goes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.core.errors import Conflict, MoorageError, NotFound
from moorage.core.service.records import Policy, Role, Verdict
from moorage.core.session import Phase, State, change
from moorage.ports.service import ServiceStore
from moorage.store import SqlStore
from tests.store.samples import ELSEWHERE
from tests.store.service.samples import (
    a_profile,
    a_session_of,
    a_sign_in,
    a_task,
    a_token,
    a_user,
    an_executor,
    peopled,
)

PART = ("executors", "profiles", "users", "tasks", "tokens", "policies")


def one_of_each() -> dict[str, Any]:
    return {
        "executors": an_executor("e2", "other"),
        "profiles": a_profile("p2", "second"),
        "users": a_user("u3", "cem", Role.MEMBER),
        "tasks": a_task("t2", "u1"),
        "tokens": a_token("k2"),
        "policies": Policy("host_path", Verdict.REFUSE, 0.0),
    }


@pytest.mark.parametrize("part", PART)
async def test_a_row_comes_back_as_it_was_put_with_the_database_s_times(
    service: ServiceStore, part: str
) -> None:
    await peopled(service)
    rows, row = getattr(service, part), one_of_each()[part]
    added = await rows.add(row)
    assert max(getattr(added, name, 0.0) for name in ("created_at", "updated_at")) > 0
    assert await rows.get(row.id) == added
    assert (await rows.list_all())[-1] == added
    zeroed = {name: getattr(row, name) for name in ("created_at", "updated_at") if hasattr(row, name)}
    assert change(added, **zeroed) == row


@pytest.mark.parametrize("part", PART)
async def test_a_change_of_what_somebody_else_changed_is_refused_with_the_version_there_is(
    service: ServiceStore, part: str
) -> None:
    await peopled(service)
    rows = getattr(service, part)
    first = await rows.add(one_of_each()[part])
    second = await rows.replace(first)
    assert second.version == 2
    with pytest.raises(Conflict) as caught:
        await rows.replace(first)
    assert caught.value.details == {"version": 2}
    with pytest.raises(Conflict):
        await rows.delete(first.id, 1)
    assert await rows.get(first.id) == second
    await rows.delete(first.id, 2)
    for gone in (rows.get(first.id), rows.replace(second), rows.delete(first.id)):
        with pytest.raises(NotFound):
            await gone


@pytest.mark.parametrize("part", PART)
async def test_an_id_that_is_taken_is_a_conflict(service: ServiceStore, part: str) -> None:
    await peopled(service)
    rows, row = getattr(service, part), one_of_each()[part]
    await rows.add(row)
    with pytest.raises(Conflict):
        await rows.add(row)


async def test_a_name_is_one_row_s_among_its_siblings(service: ServiceStore) -> None:
    await peopled(service)
    await service.executors.add(an_executor("e2", "other"))
    await service.profiles.add(a_profile("p2", "plain", "e2"))
    refused = [
        service.executors.add(an_executor("e3", "lab")),
        service.profiles.add(a_profile("p3", "plain", "e1")),
        service.users.add(a_user("u9", "ann")),
        service.executors.replace(change(await service.executors.get("e2"), name="lab")),
    ]
    for attempt in refused:
        with pytest.raises(Conflict) as caught:
            await attempt
        assert caught.value.field == "name"


async def test_what_has_a_parent_needs_one(service: ServiceStore) -> None:
    await peopled(service)
    attempts = {
        "executor_id": service.profiles.add(a_profile("p2", "x", "nowhere")),
        "owner_id": service.tasks.add(a_task("t2", "nobody")),
        "user_id": service.tokens.add(a_token("k2", "nobody")),
    }
    for field, attempt in attempts.items():
        with pytest.raises(NotFound) as caught:
            await attempt
        assert caught.value.field == field
    with pytest.raises(MoorageError, match="nobody"):
        await service.tasks.replace(change(await service.tasks.get("t1"), owner_id="nobody"))


async def test_executors_people_and_profiles_are_found_by_name_and_a_near_one_is_named(
    service: ServiceStore,
) -> None:
    await peopled(service)
    assert (await service.executors.get("lab")).id == "e1"
    assert (await service.users.get("ben")).id == "u2"
    assert (await service.profiles.get("lab/plain")).id == "p1"
    assert (await service.profiles.get("e1/plain")).id == "p1"
    for missing in (service.executors.get("lav"), service.profiles.get("lab/plaim")):
        with pytest.raises(NotFound) as caught:
            await missing
        assert "did you mean" in caught.value.hint
    for wanted in ("", "a\0b", "\udcff", "plain"):
        with pytest.raises(NotFound):
            await service.profiles.get(wanted)


async def test_pages_follow_each_other_without_hole_or_repeat(service: ServiceStore) -> None:
    await peopled(service)
    added = [await service.tasks.add(a_task(f"x{number}", "u2")) for number in range(7)]
    seen: list[str] = []
    while page := await service.tasks.list_all(parent="u2", after=seen[-1] if seen else "", limit=3):
        seen += [task.id for task in page]
    assert seen == ["t1", *(task.id for task in added)]
    assert await service.tasks.list_all(parent="u1") == []
    with pytest.raises(NotFound):
        await service.tasks.list_all(after="gone")


async def test_an_executor_profile_or_task_with_sessions_stays_until_they_are_over(store: SqlStore) -> None:
    service = store.service
    await peopled(service)
    session = a_session_of()
    await store.sessions.add(session)
    used: tuple[Any, ...] = (service.tasks, "t1"), (service.profiles, "p1"), (service.executors, "e1")
    for rows, row_id in used:
        with pytest.raises(Conflict) as caught:
            await rows.delete(row_id)
        assert caught.value.details["active_session_count"] == 1
    lease = await store.leases.acquire(session.id, ELSEWHERE)
    assert lease is not None
    await store.sessions.save(change(session, state=State(Phase.ARCHIVED, 2.0)), lease)
    for rows, row_id in used:
        await rows.delete(row_id)
    assert await service.profiles.list_all() == []


async def test_with_an_executor_go_its_profiles(service: ServiceStore) -> None:
    await peopled(service)
    await service.executors.delete("e1")
    assert await service.profiles.list_all() == []


async def test_a_profile_stays_with_its_executor(service: ServiceStore) -> None:
    await peopled(service)
    await service.executors.add(an_executor("e2", "other"))
    with pytest.raises(Conflict):
        await service.profiles.replace(change(await service.profiles.get("p1"), executor_id="e2"))


async def test_the_last_administrator_cannot_be_removed_disabled_or_made_a_member(
    service: ServiceStore,
) -> None:
    await peopled(service)
    ann = await service.users.get("ann")
    attempts = [
        service.users.delete("u1"),
        service.users.replace(change(ann, role=Role.MEMBER)),
        service.users.replace(change(ann, disabled=True)),
    ]
    for attempt in attempts:
        with pytest.raises(Conflict, match="last administrator"):
            await attempt
    await service.users.add(a_user("u3", "cem"))
    await service.users.delete("u1")
    assert await service.people.count(Role.ADMINISTRATOR) == 1


async def test_two_administrators_who_demote_each_other_at_once_leave_one(service: ServiceStore) -> None:
    ann, cem = await service.users.add(a_user()), await service.users.add(a_user("u3", "cem"))
    done = await asyncio.gather(
        *(service.users.replace(change(one, role=Role.MEMBER)) for one in (ann, cem)), return_exceptions=True
    )
    assert [type(one) for one in done].count(Conflict) == 1
    assert await service.people.count(Role.ADMINISTRATOR) == 1


async def test_a_person_with_tasks_stays_and_one_without_takes_all_else_along(service: ServiceStore) -> None:
    await peopled(service)
    with pytest.raises(Conflict) as caught:
        await service.users.delete("u2")
    assert caught.value.details == {"task_count": 1}
    await service.tasks.delete("t1")
    await service.people.add_token(a_token("k1", "u2"), b"digest")
    await service.people.sign_in(a_sign_in("b1", "u2"), b"cookie")
    await service.people.offer_link("u2", b"link", 60.0)
    await service.idempotency.claim("u2", "key", b"request")
    await service.users.delete("u2")
    assert await service.tokens.list_all() == []
    assert await service.people.by_sign_in(b"cookie") is None
    assert await service.people.take_link(b"link") is None


async def test_a_session_goes_to_another_person_with_its_task(store: SqlStore) -> None:
    service = store.service
    await peopled(service)
    await store.sessions.add(a_session_of())
    assert [row.owner_id for row in await service.inventory.rows("e1")] == ["u2"]
    await service.tasks.replace(change(await service.tasks.get("t1"), owner_id="u1"))
    assert [row.session_id for row in await service.inventory.rows("e1", owner="u1")] == ["s00000000001"]
    assert await service.inventory.rows("e1", owner="u2") == []
