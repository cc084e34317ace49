"""Output: stored, then shown, then acknowledged; every byte once, whoever was killed in between."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from moorage.core.errors import Conflict, SessionFailed, StoreError
from moorage.core.kinds import PODS
from moorage.core.session import AgentExit, Phase
from moorage.ports.link import ExitStatus, Gap, Output
from moorage.ports.sessions import Exited, Happening, Progress
from moorage.ports.store import Owner
from moorage.sessions.output import OutputPump

from .fake_cluster import TIMEOUT
from .fake_link import FakeLink
from .stage import Stage, ended, rounds, shown, until


def is_output(happening: Happening) -> bool:
    return isinstance(happening, Output)


def started(happening: Happening) -> bool:
    return isinstance(happening, Progress) and happening.step == "agent"


async def test_bytes_are_stored_before_they_are_shown_and_before_they_are_acknowledged(stage: Stage) -> None:
    session = await stage.running()
    lease = await stage.store.leases.acquire(session.id, stage.parts.owner)
    assert lease is not None
    stage.log.clear()
    pump = OutputPump(stage.store, lease, lambda item: stage.log.append("shown"))
    stage.agent.write(b"one\n")
    stage.agent.end(ExitStatus(code=0))
    await pump.start(FakeLink(stage.agent, lease.fence))
    await pump.finish()
    assert stage.log == ["output from 0", "stored 4", "shown", "ack 4"]


async def test_a_flood_is_stored_whole_and_in_order(stage: Stage) -> None:
    session = await stage.running()
    lease = await stage.store.leases.acquire(session.id, stage.parts.owner)
    assert lease is not None
    seen: list[Output | Gap] = []
    pump = OutputPump(stage.store, lease, seen.append)
    await pump.start(FakeLink(stage.agent, lease.fence))
    lines = [f"{number}\n".encode() for number in range(1000)]
    for line in lines:
        stage.agent.write(line)
        await asyncio.sleep(0)
    stage.agent.end(ExitStatus(code=0))
    await pump.finish()
    assert shown_of(seen) == b"".join(lines)
    assert shown_of(await stage.store.transcripts.read(session.id, 0)) == b"".join(lines)


def shown_of(items: list[Output | Gap]) -> bytes:
    return b"".join(item.data for item in items if isinstance(item, Output))


async def test_output_goes_on_after_the_byte_last_shown_none_missing_none_twice(stage: Stage) -> None:
    await stage.running()
    stage.agent.write(b"1\n")
    first = await stage.attend(is_output)
    stage.agent.write(b"2\n")
    await stage.verbs.stop("calm-cove", stage.said.append)
    await stage.verbs.resume("calm-cove", stage.said.append)
    stage.agent.write(b"3\n")
    stage.agent.end(ExitStatus(code=0))
    second = await stage.attend(ended)
    assert (shown(first), shown(second)) == (b"1\n", b"2\n3\n")


async def test_what_was_stored_is_not_asked_of_the_pod_again(stage: Stage) -> None:
    await stage.running()
    stage.agent.write(b"12345\n")
    await stage.attend(is_output)
    stage.log.clear()
    stage.agent.write(b"6\n")
    stage.agent.end(ExitStatus(code=0))
    await stage.attend(ended)
    assert [line for line in stage.log if line.startswith("output")] == ["output from 6"]


async def test_a_link_that_breaks_in_mid_output_loses_and_repeats_nothing(stage: Stage) -> None:
    await stage.running()
    stage.agent.write(b"before\n")

    def cut(happening: Happening) -> bool:
        if isinstance(happening, Output) and b"before" in happening.data:
            stage.agent.cut()
            stage.agent.write(b"after\n")
            stage.agent.end(ExitStatus(code=0))
        return ended(happening)

    assert shown(await stage.attend(cut)) == b"before\nafter\n"


async def test_the_last_words_of_a_stopped_agent_are_kept(stage: Stage) -> None:
    session = await stage.running()
    stage.agent.last_words = b"bye\n"
    await stage.verbs.stop("calm-cove", stage.said.append)
    assert shown(await stage.store.transcripts.read(session.id, 0)) == b"bye\n"


async def test_what_a_lost_pod_had_not_sent_yet_is_said_to_be_missing(stage: Stage) -> None:
    session = await stage.running()
    stage.cluster.drop(PODS, session.inventory.pod_name)
    await stage.verbs.resume("calm-cove", stage.said.append)
    assert any("lost" in said.message for said in stage.said)
    stage.agent.write(b"new\n")
    await stage.verbs.stop("calm-cove", stage.said.append)
    kept = await stage.store.transcripts.read(session.id, 0)
    assert kept == [Gap(0, None), Output(0, b"new\n")]


@pytest.mark.parametrize(
    ("told", "recorded"),
    [
        (ExitStatus(code=0), AgentExit(code=0)),
        (ExitStatus(code=7), AgentExit(code=7)),
        (ExitStatus(signal=9, oom=True), AgentExit(signal=9, oom=True)),
        (ExitStatus(), AgentExit()),
    ],
    ids=["success", "code", "signal", "unknown"],
)
async def test_the_agents_own_exit_is_recorded_and_told_as_it_was(
    stage: Stage, told: ExitStatus, recorded: AgentExit
) -> None:
    await stage.running()
    stage.agent.end(told)
    seen = await stage.attend(ended)
    assert seen[-1] == Exited(recorded)
    session = await stage.record()
    assert session.state.phase is Phase.PRESERVED
    assert session.run is not None
    assert session.run.exit == recorded


async def test_while_another_process_drives_one_reads_along_and_touches_nothing(stage: Stage) -> None:
    session = await stage.running()
    other = await stage.store.leases.acquire(session.id, Owner("another-host", 1, "1"))
    assert other is not None
    stage.cluster.calls.clear()
    stage.log.clear()
    await stage.store.transcripts.append(session.id, Output(0, b"theirs\n"), other)
    assert shown(await stage.attend(is_output)) == b"theirs\n"
    assert stage.cluster.calls == []
    assert stage.log == ["stored 7"]


async def test_a_wish_waits_for_the_process_that_drives_and_is_not_carried_out_twice(stage: Stage) -> None:
    session = await stage.running()
    other = await stage.store.leases.acquire(session.id, Owner("another-host", 1, "1"))
    assert other is not None
    stage.cluster.calls.clear()
    stopping = asyncio.create_task(stage.verbs.stop("calm-cove", stage.said.append))
    await until(stage, lambda: any("another-host" in said.message for said in stage.said), stopping)
    assert stage.cluster.calls == []
    await stage.store.leases.release(other)
    assert (await stopping).session.state.phase is Phase.PRESERVED
    assert stage.log.count("drain") == 1


async def test_an_owner_whose_lease_was_taken_stores_nothing_more(stage: Stage) -> None:
    session = await stage.running()
    lease = await stage.store.leases.acquire(session.id, stage.parts.owner)
    assert lease is not None
    pump = OutputPump(stage.store, lease, lambda item: stage.log.append("shown"))
    await stage.store.leases.release(lease)
    assert await stage.store.leases.acquire(session.id, Owner("another-host", 1, "1"))
    stage.log.clear()
    stage.agent.write(b"late\n")
    await pump.start(FakeLink(stage.agent, lease.fence))
    await pump.ended.wait()
    with pytest.raises(Conflict):
        await pump.fault()
    assert stage.log == ["output from 0"]


async def test_restarts_of_one_cause_end_after_three_in_ten_minutes(stage: Stage) -> None:
    session = await stage.running()
    for _ in range(3):
        stage.cluster.drop(PODS, session.inventory.pod_name)
        await stage.attend(started)
    stage.cluster.drop(PODS, session.inventory.pod_name)
    with pytest.raises(SessionFailed, match="restarted 3 times"):
        await stage.attend(started)
    assert (await stage.record()).state.phase is Phase.FAILED
    assert stage.cluster.of(PODS) == []


@pytest.mark.parametrize("look", ["the container was killed", "the Pod cannot be read"])
async def test_resume_says_running_only_of_what_it_has_seen_running(stage: Stage, look: str) -> None:
    await stage.running()
    agent, kill = stage.agent, look == "the container was killed"
    if kill:
        agent.epoch, agent.state, agent.exit = "epoch-2", "exited", ExitStatus()
    else:
        stage.cluster.fail("get", PODS, TIMEOUT)
    stage.cluster.calls.clear()
    view = await stage.verbs.resume("calm-cove", stage.said.append)
    assert view.session.state.phase is Phase.RUNNING
    assert agent.state == "running"
    assert len(agent.starts) == 1 + kill
    assert stage.cluster.writes() == []
    assert stage.looks > 2


async def test_the_start_id_is_on_record_before_the_agent_is_started(stage: Stage) -> None:
    """Else a crash in between would start a second one."""
    session, recorded = await stage.running(), []
    await stage.verbs.stop("calm-cove", stage.said.append)

    async def starting(start_id: str) -> None:
        run = (await stage.record(session.id)).run
        recorded.append((start_id, run.start_id if run else "", run.exit if run else None))

    stage.agent.starting = starting
    await stage.verbs.resume("calm-cove", stage.said.append)
    ((told, stored, ended_as),) = recorded
    assert (told, ended_as) == (stored, None)
    assert len({spec.start_id for spec in [session.run, (await stage.record()).run] if spec}) == 2


async def test_restarts_can_be_turned_off(stage: Stage) -> None:
    session = await stage.running(restart_allowed=False)
    stage.cluster.drop(PODS, session.inventory.pod_name)
    with pytest.raises(SessionFailed, match="--no-restart"):
        await stage.attend(started)
    assert stage.cluster.of(PODS) == []


async def test_whoever_only_waits_drives_and_delivers_nothing(stage: Stage) -> None:
    session = await stage.running()
    delivered = await stage.store.transcripts.delivered(session.id)
    waiting = stage.verbs.attach("calm-cove", watching=True).happenings()
    stage.agent.write(b"more words")
    stage.agent.end(ExitStatus(code=3))
    happenings = [happening async for happening in waiting]
    assert isinstance(happenings[-1], Exited)
    record = await stage.record()
    assert record.run is not None
    assert record.run.exit == AgentExit(code=3)
    assert await stage.store.transcripts.delivered(session.id) == delivered
    assert b"more words" in shown(await stage.attend(ended))


async def test_who_follows_a_session_whose_record_is_removed_is_told_how_to_find_it(
    stage: Stage, tmp_path: Path
) -> None:
    session = await stage.running()
    following = asyncio.create_task(stage.attend(ended))
    await rounds(stage, 1, following)
    shutil.rmtree(tmp_path / "data")
    stage.agent.write(b"into the void\n")
    with pytest.raises(StoreError, match="removed or replaced") as told:
        await following
    assert f"kubectl -n agents get pods,pvc -l moorage.dev/session-id={session.id}" in told.value.hint
    assert stage.agent.state == "running"
