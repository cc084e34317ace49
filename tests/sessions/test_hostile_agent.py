"""An agentctl that lies or falls silent: no verb hangs, and none says more than is known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moorage.core.errors import HelperError, LinkError, MoorageError, SessionFailed, StoreError
from moorage.core.kinds import PODS
from moorage.core.session import Phase
from moorage.engine import act, connection
from moorage.ports.link import ExitStatus, Gap, Output
from moorage.sessions import output
from moorage.sessions.output import OutputPump
from moorage.sessions.owner import Owner
from moorage.sessions.wake import Wake

from .fake_link import FakeLink
from .stage import Stage

DRIPS = 1000


async def never(*args: Any) -> Any:
    await asyncio.Event().wait()


async def nothing(*args: Any) -> ExitStatus:
    return ExitStatus(signal=15)


async def cut(*args: Any) -> ExitStatus:
    raise LinkError("cut")


@pytest.mark.parametrize("drain", [never, nothing, cut], ids=["silent", "lies", "cuts the link"])
async def test_a_stop_that_did_not_end_the_agent_has_failed_and_pause_ends_it_with_its_pod(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, drain: Any
) -> None:
    await stage.running()
    monkeypatch.setattr(FakeLink, "drain", drain)
    monkeypatch.setattr(act, "DRAIN_SLACK", 0.0)
    monkeypatch.setattr(act, "DRAIN_TRIES", 2)
    monkeypatch.setattr(output, "QUIET", 0.0)
    with pytest.raises(SessionFailed, match="may still run") as failed:
        await stage.verbs.stop("calm-cove", stage.said.append, force=True)
    assert failed.value.details["category"] == "link"
    assert (await stage.record()).state.phase is Phase.FAILED
    assert stage.agent.state == "running"
    assert len(stage.cluster.of(PODS)) == 1
    view = await stage.verbs.pause("calm-cove", stage.said.append)
    assert view.session.state.pod == "released"
    assert stage.cluster.of(PODS) == []


async def test_output_whose_end_never_comes_is_said_to_be_incomplete_and_the_stop_goes_on(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(link: FakeLink, offset: int) -> AsyncIterator[Output | Gap]:
        await never()
        yield Gap(offset, 0)

    monkeypatch.setattr(FakeLink, "output", endless)
    monkeypatch.setattr(output, "QUIET", 0.0)
    await stage.running()
    view = await stage.verbs.stop("calm-cove", stage.said.append)
    assert view.session.state.phase is Phase.PRESERVED
    warnings = [said.message for said in stage.said if said.step == "warning"]
    assert [text.partition(":")[0] for text in warnings] == ["output may be incomplete"]


async def test_an_agentctl_that_drips_output_after_the_end_is_not_listened_to_for_as_long_as_it_drips(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    dripped = 0

    async def drip(link: FakeLink, offset: int) -> AsyncIterator[Output | Gap]:
        nonlocal dripped
        for dripped in range(DRIPS):
            yield Output(offset + dripped, b".")
            await asyncio.sleep(0.001)  # sleep: what the agent does, not what is waited for

    monkeypatch.setattr(FakeLink, "output", drip)
    monkeypatch.setattr(output, "QUIET", 0.3)
    await stage.running()
    view = await stage.verbs.stop("calm-cove", stage.said.append)
    assert view.session.state.phase is Phase.PRESERVED
    assert dripped < DRIPS - 1, "it was heard to the end"
    assert any("output may be incomplete" in said.message for said in stage.said)


async def test_a_filling_that_only_claims_success_is_repeated_with_a_pause(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tree").mkdir()
    waits: list[float | None] = []

    async def lie(link: FakeLink, path: str, chunks: AsyncIterator[bytes], **more: Any) -> bool:
        link.agent.log.append("materialize")
        if len(waits) == 3:
            link.agent.markers["/workspace"] = more["marker"]
        return True

    async def wait(wake: Wake, seconds: float | None, number: int) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    await stage.launch("empty_dir", source=str(tmp_path / "tree"))
    monkeypatch.setattr(FakeLink, "materialize", lie)
    monkeypatch.setattr(Wake, "wait", wait)
    await stage.verbs.resume("calm-cove", stage.said.append)
    assert waits[:3] == [0.25] * 3
    assert stage.log.count("materialize") <= 1 + len(waits)


@pytest.mark.parametrize("failure", [LinkError("cut"), HelperError("busy"), RuntimeError("a fault of ours")])
async def test_an_owner_is_woken_when_the_wait_for_the_exit_fails(stage: Stage, failure: Exception) -> None:
    session = await stage.running()

    class Failing(FakeLink):
        async def wait_exit(self) -> ExitStatus:
            raise failure

    async def number() -> int:
        return 1

    wake = Wake(stage.cluster, session.inventory, number)
    wake.watch_link(Failing(stage.agent, 1))
    await wake.wait(None, 1)
    assert wake._event.is_set()
    await wake.close()


async def test_an_owner_lets_go_of_link_and_lease_also_when_its_output_failed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await stage.running()
    lease = await stage.store.leases.acquire(session.id, stage.parts.owner)
    assert lease is not None
    owner = Owner(stage.parts, stage.cluster, session, lease, lambda happening: None)
    link = FakeLink(stage.agent, lease.fence)
    owner.connection.link = link

    async def fail(pump: OutputPump) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(OutputPump, "stop", fail)
    with pytest.raises(MoorageError, match="the disk is full"):
        await owner.close()
    assert link.closed
    assert await stage.store.leases.holder(session.id) == ""


async def test_a_pod_whose_agentctl_falls_silent_can_be_removed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.running()
    monkeypatch.setattr(FakeLink, "status", never)
    monkeypatch.setattr(connection, "OPEN_TIMEOUT", 0.01)
    monkeypatch.setattr(connection, "ANSWER_TRIES", 1)
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert stage.cluster.of(PODS) == []
