"""A server that does not answer: nobody waits without an end, nothing is lost, and the server is named, not
the session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from moorage.core.errors import (
    AccessDenied,
    ApiProblem,
    Conflict,
    LinkError,
    MoorageError,
    SessionFailed,
    Unreachable,
)
from moorage.core.kinds import EVENTS, NAMESPACES, PODS
from moorage.core.session import Desired, Phase
from moorage.engine import connection
from moorage.ports.link import ExitStatus, Output, ProcessSpec
from moorage.ports.sessions import Exited, Happening, Progress
from moorage.ports.store import Owner

from .stage import Stage, ended, rounds, until

GONE = ApiProblem("transport", 0, "Unreachable", "https://api.test: Connection refused", "no")
EXPIRED = ApiProblem("status", 401, "Unauthorized", "Unauthorized", "no")
NO_RIGHT = ApiProblem(
    "status",
    403,
    "Forbidden",
    'pods "moorage-x" is forbidden: User "dev" cannot get resource "pods" in API group "" '
    'in the namespace "agents"',
    "no",
)
EVER = 10_000.0
VERBS: dict[str, Callable[[Stage], Coroutine[Any, Any, Any]]] = {
    "stop": lambda stage: stage.verbs.stop("calm-cove", stage.said.append),
    "pause": lambda stage: stage.verbs.pause("calm-cove", stage.said.append),
    "resume": lambda stage: stage.verbs.resume("calm-cove", stage.said.append),
    "archive": lambda stage: stage.verbs.archive("calm-cove", stage.said.append),
    "rm": lambda stage: stage.verbs.remove("calm-cove", stage.said.append),
}


def lose(stage: Stage, problem: ApiProblem = GONE) -> None:
    """From now on nothing is answered."""
    stage.cluster.fail("get", PODS, problem, lasting=True)
    stage.cluster.fail("get", NAMESPACES, problem, lasting=True)


async def given_up(stage: Stage, work: Coroutine[Any, Any, Any], seconds: float) -> MoorageError:
    """The error that ``work`` ends with once so much time has passed, and not before."""
    task = asyncio.create_task(work)
    await failing(stage, task)
    assert not task.done(), task
    stage.clock.time += seconds
    await failing(stage, task)
    if not task.done():
        task.cancel()
    with pytest.raises(MoorageError) as raised:
        await task
    return raised.value


async def failing(stage: Stage, task: asyncio.Task[Any]) -> None:
    """Let it look a few times."""
    for _ in range(3):
        calls = len(stage.cluster.calls)
        stage.cluster.wake()
        await until(stage, lambda calls=calls: len(stage.cluster.calls) > calls, task)  # type: ignore[misc]


@pytest.mark.parametrize("verb", VERBS)
async def test_a_verb_gives_up_says_where_and_leaves_the_wish_on_record(stage: Stage, verb: str) -> None:
    await stage.running()
    lose(stage)
    error = await given_up(stage, VERBS[verb](stage), stage.parts.patience)
    assert isinstance(error, Unreachable)
    assert "https://api.test: Connection refused" in error.message
    assert f"goes on with: moorage {verb} calm-cove" in error.hint
    assert (await stage.record()).intent.number == 3
    assert stage.cluster.writes()[-1].startswith("create")  # nothing was deleted


async def test_what_was_given_up_is_carried_out_by_the_next_command(stage: Stage) -> None:
    await stage.running()
    lose(stage)
    await given_up(stage, VERBS["stop"](stage), stage.parts.patience)
    stage.cluster.faults.clear()
    happenings = await stage.attend(ended)
    assert isinstance(happenings[-1], Exited)
    assert (await stage.record()).intent.desired is Desired.STOPPED
    assert stage.log.count("drain") == 1


@pytest.mark.parametrize(("verb", "word"), [("rm", "deleted"), ("archive", "archived")])
async def test_a_removal_that_was_given_up_is_shown_and_not_carried_out_by_who_looks_on(
    stage: Stage, verb: str, word: str
) -> None:
    await stage.running()
    lose(stage)
    await given_up(stage, VERBS[verb](stage), stage.parts.patience)
    stage.cluster.faults.clear()
    view = await stage.verbs.view("calm-cove")
    assert (view.word, view.reason) == ("Running", f"to be {word}: asked for, not finished")
    with pytest.raises(Conflict) as refused:
        await stage.attend(ended)
    assert f"moorage {verb} calm-cove; or keep it: moorage resume calm-cove" in refused.value.hint
    assert not [call for call in stage.cluster.writes() if call.startswith("delete")]
    await stage.verbs.resume("calm-cove", stage.said.append)
    assert (await stage.verbs.view("calm-cove")).reason == ""


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("problem", [EXPIRED, NO_RIGHT], ids=["expired", "no right"])
async def test_a_refusal_is_an_answer_and_ends_it_at_once(
    stage: Stage, verb: str, problem: ApiProblem
) -> None:
    await stage.running()
    lose(stage, problem)
    task = asyncio.create_task(VERBS[verb](stage))
    await failing(stage, task)
    if not task.done():  # time stands still here: no patience was used
        task.cancel()
    with pytest.raises(AccessDenied) as refused:
        await task
    assert problem.message in refused.value.message
    assert f"goes on with: moorage {verb} calm-cove" in refused.value.hint
    way = "--verb=get --resource=pods -n agents" if problem is NO_RIGHT else "sign in again"
    assert way in refused.value.hint
    assert (await stage.record()).intent.number == 3
    assert stage.cluster.writes()[-1].startswith("create")


async def test_a_proxys_page_that_refuses_is_no_answer_of_the_api_server(stage: Stage) -> None:
    await stage.running()
    lose(stage, ApiProblem("http", 403, "", "<html>sign in</html>", "no"))
    assert isinstance(await given_up(stage, VERBS["rm"](stage), stage.parts.patience), AccessDenied)


async def test_who_follows_an_agent_bears_a_refusal_as_it_bears_silence(stage: Stage) -> None:
    await stage.running()
    following = asyncio.create_task(stage.attend(ended))
    await rounds(stage, 1, following)
    lose(stage, NO_RIGHT)
    await failing(stage, following)
    stage.clock.time += 590.0
    await failing(stage, following)
    assert not following.done(), "the right may come back, and the agent runs on"
    stage.clock.time += 20.0
    await failing(stage, following)
    with pytest.raises(AccessDenied):
        await following


async def test_who_waits_for_another_process_leaves_it_to_that_ones_rights(stage: Stage) -> None:
    session = await stage.running()
    assert await stage.store.leases.acquire(session.id, Owner("elsewhere", 1, "1")) is not None
    lose(stage, NO_RIGHT)
    stopping = asyncio.create_task(VERBS["stop"](stage))
    await until(stage, lambda: any("driven by" in p.message for p in stage.said), stopping)
    stage.clock.time += 6.0
    looks = len(stage.cluster.calls)
    await until(stage, lambda: len(stage.cluster.calls) > looks + 1, stopping)
    assert not stopping.done()
    stage.clock.time += stage.parts.patience + 6
    with pytest.raises(AccessDenied):
        await stopping


async def test_a_server_that_comes_back_in_time_costs_nothing(stage: Stage) -> None:
    await stage.running()
    lose(stage)
    stopping = asyncio.create_task(VERBS["stop"](stage))
    await failing(stage, stopping)
    stage.cluster.faults.clear()
    stage.clock.time += EVER
    await stopping
    assert (await stage.record()).state.phase is Phase.PRESERVED


async def test_who_waits_for_another_process_does_not_wait_for_ever_either(stage: Stage) -> None:
    session = await stage.running()
    other = Owner("elsewhere", 1, "1")
    assert await stage.store.leases.acquire(session.id, other) is not None
    lose(stage)
    stopping = asyncio.create_task(VERBS["stop"](stage))
    for seconds in (6.0, stage.parts.patience + 6):
        await until(stage, lambda: any("driven by" in p.message for p in stage.said), stopping)
        calls = len(stage.cluster.calls)
        stage.clock.time += seconds
        await until(stage, lambda calls=calls: len(stage.cluster.calls) > calls, stopping)  # type: ignore[misc]
    with pytest.raises(Unreachable, match="Connection refused"):
        await stopping


async def test_a_stopped_session_is_said_to_be_stopped_without_the_cluster(stage: Stage) -> None:
    await stage.running()
    await VERBS["stop"](stage)
    before = await stage.record()
    lose(stage)
    await VERBS["stop"](stage)
    assert "calm-cove is stopped already by the record" in stage.said[-1].message
    assert await stage.record() == before


async def test_a_paused_session_is_said_to_be_paused_in_one_line(stage: Stage) -> None:
    await stage.running()
    await VERBS["pause"](stage)
    before, stage.said[:] = await stage.record(), []
    view = await stage.verbs.stop("calm-cove", stage.said.append)
    assert [said.message.split(":")[0] for said in stage.said] == ["calm-cove is paused already"]
    assert (view.word, await stage.record()) == ("Paused", before)


async def test_exec_and_cp_name_the_server_and_not_the_session(stage: Stage) -> None:
    await stage.running()
    lose(stage)
    for work in (
        stage.verbs.exec("calm-cove", ProcessSpec(["true"])),
        stage.verbs.list_files("calm-cove", "/workspace"),
    ):
        with pytest.raises(Unreachable, match=r"https://api\.test: Connection refused"):
            await work


async def read(stage: Stage, seen: list[Happening]) -> None:
    async for item in stage.verbs.logs("calm-cove"):
        seen.append(item)


async def test_logs_print_what_is_stored_and_then_name_the_server(stage: Stage) -> None:
    await stage.running()
    stage.agent.write(b"hello\n")
    await stage.attend(lambda happening: isinstance(happening, Output))
    lose(stage)
    seen: list[Happening] = []
    with pytest.raises(Unreachable, match="Connection refused") as raised:
        await read(stage, seen)
    assert seen == [Output(0, b"hello\n")]
    assert "output from byte 6 on is still in the Pod" in raised.value.hint


async def test_logs_of_an_ended_agent_need_no_server(stage: Stage) -> None:
    await stage.running()
    stage.agent.write(b"bye\n")
    stage.agent.end(ExitStatus(code=0))
    await stage.attend(ended)
    lose(stage)
    assert [item async for item in stage.verbs.logs("calm-cove")] == [Output(0, b"bye\n")]


async def test_attach_to_an_ended_agent_needs_no_server(stage: Stage) -> None:
    await stage.running()
    stage.agent.end(ExitStatus(code=3))
    await stage.attend(ended)
    lose(stage)
    (exited,) = await stage.attend(ended)
    assert isinstance(exited, Exited)
    assert exited.exit.code == 3


async def test_attach_gives_up_at_once_where_there_was_no_answer_and_late_after_one(stage: Stage) -> None:
    await stage.running()
    lose(stage)
    error = await given_up(stage, stage.attend(ended), stage.parts.patience)
    assert "goes on with: moorage attach calm-cove" in error.hint

    stage.cluster.faults.clear()
    following = asyncio.create_task(stage.attend(ended))
    await rounds(stage, 2, following)
    lose(stage)
    await failing(stage, following)
    stage.clock.time += stage.parts.patience * 2
    await failing(stage, following)
    assert not following.done()
    stage.clock.time += EVER
    with pytest.raises(Unreachable):
        await following


async def test_events_that_cannot_be_read_are_said_to_be_missing(stage: Stage) -> None:
    await stage.running()
    stage.cluster.fail("list", EVENTS, GONE)
    warnings: list[Progress] = []
    assert await stage.verbs.events("calm-cove", warnings.append)
    (warning,) = warnings
    assert "https://api.test: Connection refused" in warning.message


@pytest.fixture
def deaf(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on agentctl answers nobody, whatever is delivered to it; the Pod runs."""

    async def nobody(*args: Any, **more: Any) -> Any:
        raise LinkError("nobody listens")

    def switch() -> None:
        monkeypatch.setattr(connection, "open_link", nobody)
        monkeypatch.setattr(connection, "ANSWER_TRIES", 1)

    return switch


@pytest.mark.parametrize(
    ("workspace", "way"),
    [
        ("managed_pvc", "moorage pause calm-cove ends it with its Pod, and the workspace stays"),
        ("empty_dir", "moorage pause calm-cove --discard-workspace ends it with its Pod, and loses"),
    ],
)
async def test_a_stop_that_cannot_reach_agentctl_says_so_and_offers_the_way_out(
    stage: Stage, deaf: Callable[[], None], workspace: str, way: str
) -> None:
    await stage.running(workspace)
    deaf()
    with pytest.raises(SessionFailed, match=r"cannot be asked to end .*nobody listens") as raised:
        await VERBS["stop"](stage)
    assert way in raised.value.hint
    assert stage.agent.state == "running"
    assert len(stage.cluster.of(PODS)) == 1  # a stop never deletes the Pod
    await stage.verbs.pause("calm-cove", stage.said.append, discard_workspace=workspace == "empty_dir")
    record = await stage.record()
    assert (record.state.phase, record.state.pod) == (Phase.PRESERVED, "released")
    assert stage.cluster.of(PODS) == []
