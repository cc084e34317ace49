"""A port in the Pod is reached through the link: one for many connections, and a new one for a new Pod."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.core.errors import Conflict, LinkError
from moorage.core.kinds import PODS
from moorage.core.session import Session, change
from moorage.engine import connection
from moorage.ports.link import Link, ProcessSpec
from moorage.sessions import side_links
from moorage.sessions.parts import Parts
from moorage.sessions.side_link import side_link

from .fake_cluster import FORBIDDEN
from .stage import Stage

HANG = 20.0
"""Seconds after which a test says that it hangs, instead of hanging."""


async def test_many_connections_share_one_link(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    await stage.running()
    opened = []

    async def opening(parts: Parts, session: Session) -> Link:
        opened.append(await side_link(parts, session))
        return opened[-1]

    monkeypatch.setattr(side_links, "side_link", opening)
    await asyncio.gather(*(stage.verbs.dial("calm-cove", port) for port in (80, 81, 82)))
    assert sorted(line for line in stage.log if line.startswith("dial")) == ["dial 80", "dial 81", "dial 82"]
    assert len(opened) == 1


async def test_who_is_cut_off_while_the_way_opens_is_told_what_to_do(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut(*args: Any, **more: Any) -> Link:
        raise LinkError("the connection was cut")

    await stage.running()
    monkeypatch.setattr(connection, "open_link", cut)
    with pytest.raises(LinkError, match="the connection was cut") as told:
        await stage.verbs.exec("calm-cove", ProcessSpec(argv=["true"]))
    assert told.value.hint == "try again in a moment"


async def test_a_pod_that_was_replaced_is_dialled_anew(stage: Stage) -> None:
    first = await stage.running()
    stream = await stage.verbs.dial("calm-cove", 80)
    assert await stream.read() == first.inventory.pod_uid.encode()
    other = type(stage.verbs)(stage.parts)  # another command replaces the Pod
    second = (await other.reset("calm-cove", stage.said.append)).session
    stage.agent_of(first.inventory.pod_uid).state = "gone"
    stream = await stage.verbs.dial("calm-cove", 80)
    assert await stream.read() == second.inventory.pod_uid.encode() != first.inventory.pod_uid.encode()


async def test_a_link_that_died_is_replaced_at_the_next_use_of_whatever_kind(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []

    async def opening(parts: Parts, session: Session) -> Any:
        opened.append(await side_link(parts, session))
        return opened[-1]

    monkeypatch.setattr(side_links, "side_link", opening)
    await stage.running()
    await stage.verbs.reach("calm-cove")
    await stage.verbs.reach("calm-cove")
    assert len(opened) == 1
    opened[0].broken = True
    await stage.verbs.reach("calm-cove")
    assert [link.closed for link in opened] == [True, False]


async def test_a_pod_that_does_not_answer_keeps_nobody_from_another(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = await stage.running()
    other = change(hanging, identity=change(hanging.identity, session_id="other"))
    asked = asyncio.Event()

    async def opening(parts: Parts, session: Session) -> Link:
        if session.id == hanging.id:
            asked.set()
            await asyncio.Event().wait()
        return await side_link(parts, hanging)

    monkeypatch.setattr(side_links, "side_link", opening)
    links = side_links.SideLinks(stage.parts)
    waiting = asyncio.create_task(links.to(hanging))
    await asked.wait()
    async with asyncio.timeout(HANG):
        assert not (await links.to(other)).broken
    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await links.close()


async def test_without_a_running_pod_it_is_said_before_anything_is_dialled(stage: Stage) -> None:
    await stage.running()
    await stage.verbs.pause("calm-cove", stage.said.append)
    with pytest.raises(Conflict, match="no running Pod"):
        await stage.verbs.reach("calm-cove")


async def test_evidence_is_the_pod_and_which_output_is_kept(stage: Stage) -> None:
    await stage.running()
    found = await stage.verbs.evidence("calm-cove")
    assert found.pod == stage.cluster.only(PODS)
    assert (found.unseen, found.kept_from, found.end) == ("", 0, len(stage.agent.held))


async def test_evidence_of_a_pod_that_may_not_be_read_says_so(stage: Stage) -> None:
    await stage.running()
    await stage.verbs.pause("calm-cove", stage.said.append)
    assert (await stage.verbs.evidence("calm-cove")).unseen == ""  # it is gone, and that is known
    stage.cluster.fail("get", PODS, FORBIDDEN)
    found = await stage.verbs.evidence("calm-cove")
    assert (found.pod, found.unseen != "") == (None, True)
