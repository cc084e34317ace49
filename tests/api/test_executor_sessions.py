"""Who has sessions on an executor: own ones whole, others' without who and what; each by its exact Pod."""

from __future__ import annotations

import asyncio

from moorage.core.kinds import PODS
from moorage.core.service.records import Role
from moorage.core.session import Session
from moorage.ports.sessions import SessionView
from tests.api.scripted_places import Obliging, on_record
from tests.api.service import Client, Service

HIDDEN = ("task_id", "session_id", "pod_name")


class Held(Obliging):
    """Looks that wait until a test lets them."""

    go: asyncio.Event
    asked: asyncio.Event

    async def view(self, name: str) -> SessionView:
        self.note("view", name)
        self.asked.set()
        await self.go.wait()
        return self._view(name)


async def two_sessions(service: Service) -> tuple[Client, Client, str, Session, Session]:
    """Mia's and Max's, on one executor."""
    administrator = await service.administrator()
    mia, max_ = await service.person("mia"), await service.person("max")
    profile = await service.profile(administrator)
    executor = profile["executor_id"]
    one = await on_record(service.parts, await service.task(mia), executor, profile["id"], "calm")
    two = await on_record(service.parts, await service.task(max_), executor, profile["id"], "brisk")
    return mia, max_, executor, one, two


async def test_others_sessions_are_rows_without_identity(service: Service) -> None:
    mia, _, executor, one, two = await two_sessions(service)
    service.oblige(one, two)
    told = await mia.get(f"/kubernetes/executors/{executor}/sessions")
    own, other = sorted(told.body["items"], key=lambda row: row["session_id"] is None)
    assert (own["session_id"], own["task_id"]) == (one.id, one.identity.task_id)
    assert (own["pod_phase"], other["pod_phase"]) == ("Running", "Running")
    assert {other[name] for name in HIDDEN} == {None}
    for word in (two.id, two.identity.task_id, two.name, "max", "mend it"):
        assert word not in str(other)


async def test_an_administrator_sees_others_no_better(service: Service) -> None:
    _, _, executor, one, two = await two_sessions(service)
    service.oblige(one, two)
    administrator = await service.person("boss", Role.ADMINISTRATOR)
    told = await administrator.get(f"/kubernetes/executors/{executor}/sessions")
    assert {row[name] for row in told.body["items"] for name in HIDDEN} == {None}
    impact = await administrator.get(f"/kubernetes/executors/{executor}/session-impact")
    assert impact.body == {"active_session_count": 2}


async def test_a_filter_narrows_before_any_look(service: Service) -> None:
    mia, _, executor, one, two = await two_sessions(service)
    verbs = service.oblige(one, two)
    path = f"/kubernetes/executors/{executor}/sessions"
    told = await mia.get(f"{path}?task_id={one.identity.task_id}&session_id={one.id}")
    assert [row["session_id"] for row in told.body["items"]] == [one.id]
    foreign = await mia.get(f"{path}?task_id={two.identity.task_id}")
    assert (foreign.status, verbs.names("view")) == (404, [one.id])


async def test_looks_in_flight_are_shared_and_nothing_is_remembered(service: Service) -> None:
    mia, _, executor, one, _ = await two_sessions(service)
    verbs = service.oblige(one)
    verbs.__class__ = Held
    assert isinstance(verbs, Held)
    verbs.go, verbs.asked = asyncio.Event(), asyncio.Event()
    path = f"/kubernetes/executors/{executor}/sessions?task_id={one.identity.task_id}"
    asking = [asyncio.create_task(mia.get(path))]
    await verbs.asked.wait()
    joined = [asyncio.create_task(service.parts.looks.at(one.id)) for _ in range(3)]
    await asyncio.sleep(0)
    verbs.go.set()
    await asyncio.gather(*asking, *joined)
    assert verbs.names("view") == [one.id]
    await mia.get(path)
    assert verbs.names("view") == [one.id, one.id]


async def test_pods_are_read_by_name_and_never_listed(service: Service) -> None:
    administrator, mia = await service.administrator(), await service.person("mia")
    profile = await service.profile(administrator)
    task = await service.task(mia, profile["id"])
    session = await service.session(mia, task)
    service.stage.cluster.calls.clear()
    for path in (
        f"/kubernetes/executors/{profile['executor_id']}/sessions",
        f"/tasks/{task}/sessions",
        f"/sessions/{session}",
        "/sessions",
    ):
        assert (await mia.get(path)).status == 200
    pods = [call for call in service.stage.cluster.calls if call.plural == PODS.plural]
    assert {call.verb for call in pods} == {"get"}
    assert len({call.name for call in pods}) == 1
