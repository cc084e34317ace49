"""A container that hangs while it is spoken to: its session fails in time, and can be ended at any time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from moorage.core.errors import NotFound, SessionFailed
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.session import Desired, Intent
from moorage.engine import act, connection
from moorage.ports.link import ExitStatus
from moorage.sessions import wake

from .fake_link import FakeLink
from .stage import NOW, Stage, ended

HANG = 30.0
"""Seconds after which a test says that it hangs, instead of hanging."""


class Silence:
    """Whoever asks gets no answer, and the test is told that somebody asked."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.let_go = 0

    async def __call__(self, *args: Any, **more: Any) -> NoReturn:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.let_go += 1
        raise AssertionError("never comes here")


def no_shell(monkeypatch: pytest.MonkeyPatch, silence: Silence) -> None:
    monkeypatch.setattr(connection, "install_and_deliver", silence)


def no_start(monkeypatch: pytest.MonkeyPatch, silence: Silence) -> None:
    async def start(link: FakeLink, *args: Any, **more: Any) -> NoReturn:
        await silence()

    monkeypatch.setattr(FakeLink, "start_agent", start)


def no_filling(monkeypatch: pytest.MonkeyPatch, silence: Silence) -> None:
    async def fill(link: FakeLink, *args: Any, **more: Any) -> NoReturn:
        await silence()

    monkeypatch.setattr(FakeLink, "materialize", fill)


HANGS = {"bootstrap": no_shell, "source": no_filling, "start": no_start}


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> Silence:
    monkeypatch.setattr(wake, "INTENT_LOOK", 0.01)
    return Silence()


@pytest.fixture(params=HANGS)
async def hanging(
    request: pytest.FixtureRequest,
    stage: Stage,
    silence: Silence,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
) -> asyncio.Task[Any]:
    """``run``, which has come to where the container hangs."""
    HANGS[request.param](monkeypatch, silence)
    (tmp_path / "files").mkdir()
    await stage.launch(source=str(tmp_path / "files"))
    running = asyncio.create_task(stage.attend(ended))
    async with asyncio.timeout(HANG):
        await silence.asked.wait()
    return running


async def wished(stage: Stage, desired: Desired, *, force: bool = False) -> None:
    """What another process leaves on record, and then waits for."""
    session = await stage.record()
    await stage.store.sessions.set_intent(session.id, Intent(desired=desired, at=NOW, force=force))


@pytest.mark.parametrize("force", [False, True])
async def test_whoever_drives_it_does_what_another_command_wishes_at_once(
    stage: Stage, silence: Silence, hanging: asyncio.Task[Any], force: bool
) -> None:
    await wished(stage, Desired.DELETED, force=force)
    async with asyncio.timeout(HANG):
        await asyncio.gather(hanging, return_exceptions=True)
    with pytest.raises(NotFound):
        await stage.record()
    assert silence.let_go == 1
    assert stage.cluster.of(PODS) == stage.cluster.of(CLAIMS) == []


LIMITS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "bootstrap": lambda patch: patch.setattr(connection, "BOOTSTRAP_LIMIT", 0.01),
    "source": lambda patch: patch.setattr(act, "STALL", 0.01),
    "start": lambda patch: patch.setattr(act, "ANSWER_TIMEOUT", 0.01),
}


@pytest.mark.parametrize("where", HANGS)
async def test_the_start_timeout_ends_it(
    stage: Stage, silence: Silence, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, where: str
) -> None:
    HANGS[where](monkeypatch, silence)
    LIMITS[where](monkeypatch)
    (tmp_path / "files").mkdir()
    await stage.launch(source=str(tmp_path / "files"), start_timeout=60.0)

    async def run() -> None:
        await stage.attend(ended)

    running = asyncio.create_task(run())
    async with asyncio.timeout(HANG):
        await silence.asked.wait()
        stage.clock.time += 120.0
        with pytest.raises(SessionFailed):
            await running


async def test_an_agent_that_is_being_ended_keeps_its_grace_unless_forced(
    stage: Stage, silence: Silence, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.running()
    drained, graces = FakeLink.drain, []

    async def drain(link: FakeLink, grace: float) -> ExitStatus:
        graces.append(grace)
        if grace:
            await silence()
        return await drained(link, grace)

    first, look_on, looks_on = (
        (await stage.record()).intent.number + 1,
        wake.Wake.newer_intent,
        asyncio.Event(),
    )

    async def noted(alarm: wake.Wake, number: int) -> None:
        if number > first:
            looks_on.set()
        await look_on(alarm, number)

    monkeypatch.setattr(FakeLink, "drain", drain)
    monkeypatch.setattr(wake.Wake, "newer_intent", noted)
    stopping = asyncio.create_task(stage.verbs.stop("calm-cove", stage.said.append))
    async with asyncio.timeout(HANG):
        await silence.asked.wait()
        await wished(stage, Desired.STOPPED)
        await looks_on.wait()  # it has seen that wish
        assert silence.let_go == 0
        await wished(stage, Desired.STOPPED, force=True)
        await stopping
    assert graces == [(await stage.record()).agent.grace_seconds, 0.0]
