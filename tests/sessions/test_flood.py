"""Output that nobody reads waits on the disk, not in memory; where the disk takes no more, nobody hangs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from moorage.core.errors import StoreError
from moorage.ports.link import ExitStatus, Output
from moorage.sessions.attachment import SessionAttachment
from moorage.sessions.output import BACKLOG, OutputPump

from .fake_link import FakeLink
from .stage import Stage, ended, shown

VERBS: dict[str, Callable[[Stage], Coroutine[Any, Any, Any]]] = {
    "attach": lambda stage: stage.attend(ended),
    "stop": lambda stage: stage.verbs.stop("calm-cove", stage.said.append),
    "pause": lambda stage: stage.verbs.pause("calm-cove", stage.said.append),
}
HANG = 20.0
"""Seconds after which a test says that it hangs, instead of hanging."""


async def endless(link: FakeLink, offset: int) -> AsyncIterator[Output]:
    while True:
        yield Output(offset, b"y")
        offset += 1


async def full(*args: Any) -> int:
    raise StoreError("the database refused: database or disk is full")


async def stuck(*args: Any) -> int:
    return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]


@pytest.mark.parametrize("verb", VERBS)
async def test_a_full_disk_under_a_flood_ends_every_command_with_its_error(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    session = await stage.running()
    monkeypatch.setattr(FakeLink, "output", endless)
    monkeypatch.setattr(stage.store.transcripts, "append", full)
    with pytest.raises(StoreError, match="disk is full"):
        async with asyncio.timeout(HANG):
            await VERBS[verb](stage)
    assert await stage.store.leases.holder(session.id) == ""
    assert not [told for told in stage.log if told.startswith("ack")]


async def test_a_flood_that_nobody_stores_is_let_go_of_at_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await stage.running()
    lease = await stage.store.leases.acquire(session.id, stage.parts.owner)
    assert lease is not None
    flooded = asyncio.Event()

    async def noted(link: FakeLink, offset: int) -> AsyncIterator[Output]:
        async for item in endless(link, offset):
            if item.offset >= 2 * BACKLOG:  # one batch is being stored, and the queue behind it is full
                flooded.set()
            yield item

    monkeypatch.setattr(FakeLink, "output", noted)
    monkeypatch.setattr(stage.store.transcripts, "append", stuck)
    pump = OutputPump(stage.store, lease, lambda item: None)
    await pump.start(FakeLink(stage.agent, lease.fence))
    async with asyncio.timeout(HANG):
        await flooded.wait()
        await pump.stop()
    assert not pump.running


async def test_a_flood_that_nobody_reads_waits_on_the_disk_and_is_then_shown_whole(stage: Stage) -> None:
    session = await stage.running()
    attachment = stage.verbs.attach("calm-cove")
    assert isinstance(attachment, SessionAttachment)
    happenings, seen, wanted = attachment.happenings(), [], b"first\n"
    stage.agent.write(wanted)
    async for happening in happenings:
        seen.append(happening)
        if shown(seen) == wanted:
            break
    queued = []
    for number in range(30):
        wanted += (line := f"{number}\n".encode())
        stage.agent.write(line)
        while await stage.store.transcripts.end(session.id) < len(wanted):
            pass
        queued.append(attachment._queue.qsize())
    assert max(queued) <= 1
    stage.agent.end(ExitStatus(code=0))
    seen += [happening async for happening in happenings]
    assert ended(seen[-1])
    assert shown(seen) == wanted
    assert await stage.store.transcripts.delivered(session.id) == len(wanted)
    await attachment.close()
