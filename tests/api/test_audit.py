"""The audit knows of every access and change, of what was refused, and of what was cut short."""

from __future__ import annotations

import aiohttp
import pytest

from moorage.core.service.records import AuditRow
from moorage.server.guard import does
from tests.api.scripted_places import on_record
from tests.api.service import EXECUTOR, Client, Service


async def rows(service: Service) -> list[AuditRow]:
    """Oldest first."""
    return list(reversed(await service.parts.service.audit.rows()))


def short(found: list[AuditRow], client: Client) -> list[tuple[str, str, str, int]]:
    assert client.user is not None
    return [(one.action, one.target, one.outcome, one.status) for one in found if one.actor == client.user.id]


async def test_a_change_a_refusal_and_a_failure_are_told_apart(service: Service) -> None:
    administrator, member = await service.administrator(), await service.person("mia")
    await member.post("/executors", EXECUTOR)
    await administrator.post("/executors", {"name": "dev"})
    made = await administrator.post("/executors", EXECUTOR)
    await administrator.delete(f"/executors/{made.body['id']}")
    found = await rows(service)
    assert short(found, member) == [("executor.create", "", "refused", 403)]
    assert short(found, administrator) == [
        ("executor.create", "", "failed", 422),
        ("executor.create", "", "allowed", 201),
        ("executor.delete", f"executor/{made.body['id']}", "allowed", 204),
    ]


async def test_each_use_of_a_session_has_its_row_also_over_websocket_and_by_strangers(
    service: Service,
) -> None:
    mia, stranger = await service.person("mia"), await service.person("max")
    session = await on_record(service.parts, await service.task(mia))
    service.oblige(session)
    path = f"/sessions/{session.id}"
    for client in (mia, stranger):
        await client.get(f"{path}/logs")
        await client.post(f"{path}/exec", {"argv": ["true"]})
        await client.get(f"{path}/files?path=/workspace/a")
        await terminal(client, f"{path}/attach")
    found, target = await rows(service), f"session/{session.id}"
    uses = ("session.logs", "session.exec", "session.files_read", "session.attach")
    assert [row for row in short(found, mia) if row[0] in uses] == [
        ("session.logs", target, "allowed", 200),
        ("session.exec", target, "allowed", 200),
        ("session.files_read", target, "allowed", 200),
        ("session.attach", target, "allowed", 101),
    ]
    assert short(found, stranger) == [(use, target, "refused", 404) for use in uses]


async def terminal(client: Client, path: str) -> None:
    """Open it, and hear it to its end."""
    async with aiohttp.ClientSession() as http:
        try:
            async with http.ws_connect(client.base + path, headers=client.headers) as socket:
                async for _ in socket:
                    pass
        except aiohttp.WSServerHandshakeError:
            return


async def test_nobody_s_attempt_is_on_record_too(service: Service) -> None:
    await service.nobody().post("/signin/password", {"name": "mia", "password": "guessed"})
    await service.nobody().delete("/tasks/none")
    assert [(one.actor, one.action, one.outcome) for one in await rows(service)] == [
        ("", "signin.password", "failed"),
        ("", "task.delete", "refused"),
    ]


async def test_what_a_crash_cuts_short_stays_as_begun(service: Service) -> None:
    row = await service.parts.service.audit.begin("u", "token", "task.delete", "task/x")
    (found,) = await rows(service)
    assert (found.id, found.outcome) == (row, "begun")


async def test_reading_leaves_no_row(service: Service) -> None:
    mia = await service.person("mia")
    await mia.get("/tasks")
    await mia.get("/executors")
    assert await rows(service) == []


def test_a_route_of_an_unknown_action_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="destroy"):
        does("task.destroy")
