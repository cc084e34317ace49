"""What a person follows: changes as they are committed, and the terminal from the byte they have."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from moorage.core.session import Session
from moorage.ports.link import Gap, Output
from tests.api.scripted_places import Obliging, on_record
from tests.api.service import EXECUTOR, Client, Service
from tests.api.test_signing_in import browser, by_link

Event = tuple[str, int, dict[str, Any]]


@asynccontextmanager
async def events(client: Client, after: int | None = None) -> AsyncIterator[AsyncIterator[Event]]:
    """The stream, as a browser reads it."""
    headers = {**client.headers, **({} if after is None else {"Last-Event-ID": str(after)})}
    async with aiohttp.ClientSession() as http, http.get(client.base + "/events", headers=headers) as told:
        assert told.status == 200, await told.text()
        yield _events(told.content)


async def _events(lines: aiohttp.StreamReader) -> AsyncIterator[Event]:
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif "event" in fields:
            yield fields["event"], int(fields["id"]), json.loads(fields["data"])
            fields = {}


async def test_changes_come_in_order_and_a_return_misses_none(service: Service) -> None:
    mia = await service.person("mia")
    async with events(mia) as stream:
        kind, start, _ = await anext(stream)
        assert kind == "ready"
        made = [(await mia.post("/tasks", {"title": f"t{n}"})).body["id"] for n in range(3)]
        seen = [await anext(stream) for _ in range(3)]
    assert [data["id"] for _, _, data in seen] == made
    revisions = [revision for _, revision, _ in seen]
    assert revisions == sorted(revisions)
    assert revisions[0] > start
    async with events(mia, after=revisions[0]) as stream:
        await anext(stream)
        assert [(await anext(stream))[2]["id"] for _ in range(2)] == made[1:]


async def test_a_person_is_told_only_of_what_they_may_see(service: Service) -> None:
    administrator, mia, stranger = (
        await service.administrator(),
        await service.person("mia"),
        await service.person("max"),
    )
    async with events(stranger) as stream:
        await anext(stream)
        await mia.post("/tasks", {"title": "private"})
        await administrator.post("/users", {"name": "newcomer"})
        made = await administrator.post("/executors", EXECUTOR)
        kind, _, data = await anext(stream)
    assert (kind, data["kind"], data["id"]) == ("change", "executor", made.body["id"])


async def test_who_comes_back_from_too_far_is_told_to_read_anew(service: Service) -> None:
    mia = await service.person("mia")
    async with events(mia, after=10**9) as stream:
        assert (await anext(stream))[0] == "ready"
        kind, revision, _ = await anext(stream)
        await mia.post("/tasks", {"title": "after"})
        follows = await anext(stream)
    assert (kind, revision < 10**9, follows[0]) == ("resync", True, "change")


async def watched(service: Service, *items: Output | Gap) -> tuple[Client, Session, Obliging]:
    mia = await service.person("mia")
    session = await on_record(service.parts, await service.task(mia))
    verbs = service.oblige(session)
    verbs.transcript = items
    return mia, session, verbs


async def hear(client: Client, path: str, *say: str | bytes) -> tuple[list[Any], int | None]:
    """All that the terminal says, and how it closes."""
    told: list[Any] = []
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(client.base + path, headers=client.headers) as socket,
    ):
        for word in say:
            await (socket.send_str(word) if isinstance(word, str) else socket.send_bytes(word))
        async for message in socket:
            binary = message.type is aiohttp.WSMsgType.BINARY
            told.append(message.data if binary else json.loads(message.data))
        return told, socket.close_code


async def test_the_terminal_goes_on_at_the_byte_it_is_told(service: Service) -> None:
    mia, session, verbs = await watched(service, Output(7, b"lo "), Gap(10, 5), Output(15, b"world"))
    told, code = await hear(mia, f"/sessions/{session.id}/attach?offset=7")
    assert told[:-1] == [
        {"type": "at", "offset": 7},
        b"lo ",
        {"type": "gap", "offset": 10, "length": 5},
        {"type": "at", "offset": 15},
        b"world",
    ]
    assert (told[-1]["type"], code) == ("end", 1000)
    assert ("logs", session.id, True, 7) in verbs.calls


async def test_a_browser_of_another_site_opens_no_terminal(service: Service) -> None:
    mia, session, _ = await watched(service, Output(0, b"secret"))
    page = browser(service, await by_link(service, mia))
    path = f"{page.base}/sessions/{session.id}/attach"
    codes = {}
    for origin in ("https://evil.example", f"http://127.0.0.1:{service.port}"):
        async with aiohttp.ClientSession() as http:
            try:
                async with http.ws_connect(path, headers={**page.headers, "Origin": origin}):
                    codes[origin] = 101
            except aiohttp.WSServerHandshakeError as refused:
                codes[origin] = refused.status
    assert list(codes.values()) == [403, 101]
