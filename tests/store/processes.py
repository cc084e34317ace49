"""Programs that the store's tests run as processes of their own: ``python -m tests.store.processes``.

One process loads the code and forks from there, so that a dozen deaths cost little more than one start.
Every program prints one JSON value.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

from moorage.core.session import Desired, Intent, Phase, State, change
from moorage.ports.link import Gap, Output
from moorage.ports.store import SessionEvent, Store
from moorage.store import current_owner, open_store
from tests.store.samples import a_session, spoil

OnWrite = Callable[[str], None]


async def every_write(store: Store, folder: Path) -> AsyncIterator[str]:
    """One session's life, and the end of one whose record became unreadable, one write a step; each step is
    yielded once its call returned. ``folder``: where ``store`` is."""
    session = a_session()
    await store.install_id()
    yield "install_id"
    await store.put_setting("transport", "exec")
    yield "put_setting"
    await store.secrets.put("env/1", b"value")
    yield "secrets.put"
    await store.sessions.add(session)
    yield "add"
    # Long enough that on no machine it ends before what is left of it is looked at.
    lease = await store.leases.acquire(session.id, current_owner(), ttl=3600)
    assert lease is not None
    yield "acquire"
    await store.sessions.save(change(session, state=State(Phase.RUNNING, 2.0)), lease)
    yield "save"
    await store.sessions.set_intent(session.id, Intent(Desired.STOPPED, at=3.0))
    yield "set_intent"
    await store.sessions.add_event(session.id, SessionEvent(4.0, "PodCreated", "uid"))
    yield "add_event"
    await store.transcripts.append(session.id, Output(0, b"first"), lease)
    yield "append"
    await store.transcripts.append(session.id, Gap(5, 3), lease)
    yield "append a gap"
    await store.transcripts.mark_delivered(session.id, 5)
    yield "mark_delivered"
    await store.leases.renew(lease, ttl=3600)
    yield "renew"
    await store.sessions.purge(session.id, lease)
    yield "purge"
    await store.secrets.delete("env/1")
    yield "secrets.delete"
    await store.leases.release(lease)
    yield "release"
    other = a_session("s00000000002", "unreadable")
    await store.sessions.add(other)
    yield "add"
    lease = await store.leases.acquire(other.id, current_owner(), ttl=3600)
    assert lease is not None
    yield "acquire"
    spoil(folder, "record", session_id=other.id)
    await store.sessions.discard(other.id, lease)
    yield "discard"


def die_at(count: int) -> OnWrite:
    """SIGKILL this process at the ``count``-th point, counted from 0."""
    seen = 0

    def reached(point: str) -> None:
        nonlocal seen
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    return reached


async def live(folder: Path, on_write: OnWrite | None = None) -> None:
    store = await open_store(folder, on_write=on_write)
    async for _step in every_write(store, folder):
        pass
    await store.close()


def _live_until(folder: Path, point: int) -> None:
    asyncio.run(live(folder, die_at(point)))


def crash(root: Path) -> list[Any]:
    """Live once to learn all points, then die once at each, every time in a fresh folder ``root/N``."""
    points: list[str] = []
    asyncio.run(live(root / "whole", points.append))
    deaths = []
    for number, point in enumerate(points):
        child = fork(partial(_live_until, root / str(number), number))
        deaths.append([point, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])])
    return deaths


def race(root: Path) -> list[Any]:
    """Two processes, alive until both are done, go for the same 20 leases. What each got."""
    asyncio.run(prepare(root))
    return together(2, lambda _number: asyncio.run(take_all(root)))


async def prepare(root: Path) -> None:
    store = await open_store(root)
    for number in range(20):
        await store.sessions.add(a_session(f"s{number:011}", f"name-{number}"))
    await store.close()


async def take_all(root: Path) -> list[bool]:
    store = await open_store(root)
    taken = [await store.leases.acquire(f"s{number:011}", current_owner()) for number in range(20)]
    await store.close()
    return [lease is not None for lease in taken]


def opened(root: Path) -> list[Any]:
    """Four processes open one empty folder at once and write to it."""
    return together(4, lambda number: asyncio.run(first_use(root, number)))


async def first_use(root: Path, number: int) -> str:
    store = await open_store(root)
    await store.secrets.put(f"env/{number}", f"value {number}".encode())
    await store.sessions.add(a_session(f"s{number:011}", f"name-{number}"))
    install_id = await store.install_id()
    await store.close()
    return install_id


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Start ``count`` processes at one signal; none ends before all have answered."""
    go_read, go_write = os.pipe()
    end_read, end_write = os.pipe()
    answers = []

    def one(number: int, answer: int) -> None:
        os.close(go_write)
        os.close(end_write)
        os.read(go_read, 1)  # returns when the last writer closes
        os.write(answer, json.dumps(work(number)).encode())
        os.close(answer)
        os.read(end_read, 1)

    for number in range(count):
        answer_read, answer_write = os.pipe()
        fork(partial(one, number, answer_write))
        os.close(answer_write)
        answers.append(answer_read)
    os.close(go_write)
    results = []
    for answer in answers:
        with os.fdopen(answer, "rb") as pipe:
            results.append(json.loads(pipe.read()))
    os.close(end_write)
    for _ in range(count):
        assert os.wait()[1] == 0
    return results


def fork(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    program = {"crash": crash, "race": race, "opened": opened}[sys.argv[1]]
    print(json.dumps(program(Path(sys.argv[2]))))
