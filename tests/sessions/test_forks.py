"""A fork is a session of its own on a copy of another's workspace; nothing half-filled is ever started."""

from __future__ import annotations

import asyncio
import io
import tarfile
from typing import Any

import pytest

from moorage.core.errors import Conflict, HelperError, SessionFailed, UsageError
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.session import Phase, Session
from moorage.engine.bounded_tar import entries
from moorage.engine.workspace_copy import tree_hash
from moorage.ports.forks import ForkRequest
from moorage.ports.link import ExitStatus

from .fake_link import FakeAgent, FakeLink
from .stage import Stage


def tar_of(**files: str) -> bytes:
    """A workspace as agentctl packs it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


WORK = tar_of(work="done")


class Pods(dict[str, FakeAgent]):
    """What the Pods to come find in their workspaces: ``workspace``, with the marker of its source."""

    def __init__(self, before: dict[str, FakeAgent], workspace: bytes, marker: str) -> None:
        super().__init__(before)
        self._found, self._marker = workspace, marker

    def setdefault(self, key: str, default: Any = None) -> FakeAgent:
        if key not in self:
            default.workspace = self._found
            default.markers = {"/workspace": self._marker} if self._marker else {}
        return super().setdefault(key, default)


def hash_of(tar: bytes) -> str:
    return tree_hash(entries(io.BytesIO(tar)))


async def stopped(stage: Stage, workspace: str = "managed_pvc", **more: Any) -> Session:
    """A session at rest, whose Pod can be read."""
    await stage.running(workspace, **more)
    stage.agent.workspace = WORK
    return (await stage.verbs.stop("calm-cove", stage.said.append)).session


async def forked(stage: Stage, **request: Any) -> list[Session]:
    return await stage.verbs.fork("calm-cove", ForkRequest(**request), stage.said.append)


async def started(stage: Stage, name: str) -> FakeAgent:
    view = await stage.verbs.resume(name, stage.said.append)
    return stage.agent_of(view.session.inventory.pod_uid)


async def test_a_fork_runs_the_same_agent_on_a_copy_and_the_other_stays_as_it_is(stage: Stage) -> None:
    origin = await stopped(stage, env={"TOKEN": "planted"})
    (fork,) = await forked(stage)
    agent = await started(stage, fork.name)
    assert agent.unpacked == [WORK]
    assert [(spec.argv, dict(spec.env)) for spec in agent.starts] == [(("agent",), {"TOKEN": "planted"})]
    there = await stage.record(fork.name)
    assert (there.state.phase, there.filled) == (Phase.RUNNING, there.inventory.claim_uid)
    assert {there.inventory.pod_uid, there.inventory.claim_uid}.isdisjoint(
        {origin.inventory.pod_uid, origin.inventory.claim_uid}
    )
    assert await stage.record() == origin


async def test_the_record_says_where_the_workspace_comes_from_before_anything_is_made(stage: Stage) -> None:
    origin = await stopped(stage)
    before = stage.cluster.writes()
    (fork,) = await forked(stage)
    assert fork.source is not None
    assert (fork.source.kind, fork.source.location, fork.source.method) == ("session", origin.id, "copy")
    assert fork.source.tree == hash_of(WORK)
    assert stage.cluster.writes() == before


async def test_both_histories_tell_of_the_fork_and_of_the_method(stage: Stage) -> None:
    await stopped(stage)
    (fork,) = await forked(stage)
    told = [event.message for event in await stage.verbs.events("calm-cove") if event.kind == "Forked"]
    assert told == ["to calm-cove-fork-1, by copy"]
    told = [event.message for event in await stage.verbs.events(fork.name) if event.kind == "Forked"]
    assert told == ["from calm-cove, by copy"]


async def test_several_forks_are_of_one_copy(stage: Stage) -> None:
    await stopped(stage)
    stage.log.clear()
    forks = await forked(stage, count=3)
    assert [one.name for one in forks] == [f"calm-cove-fork-{n}" for n in (1, 2, 3)]
    assert stage.log.count("get tar") == 1
    assert [(await started(stage, one.name)).unpacked for one in forks] == [[WORK]] * 3


async def test_a_fork_does_not_need_the_other_session_any_more(stage: Stage) -> None:
    await stopped(stage)
    (fork,) = await forked(stage)
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert (await started(stage, fork.name)).unpacked == [WORK]


async def test_names_that_are_taken_are_passed_over_or_refused(stage: Stage) -> None:
    await stopped(stage)
    await forked(stage)
    assert [one.name for one in await forked(stage)] == ["calm-cove-fork-2"]
    with pytest.raises(Conflict, match="calm-cove-fork-1 already"):
        await forked(stage, name="calm-cove-fork-1")
    assert [one.name for one in await forked(stage, name="try", count=2)] == ["try-1", "try-2"]


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"count": 0}, "n"),
        ({"count": 51}, "n"),
        ({"method": "snapshot"}, "method"),
        ({"name": "A b"}, "name"),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused_by_field(
    stage: Stage, request_: dict[str, Any], field: str
) -> None:
    await stopped(stage)
    with pytest.raises(UsageError) as refused:
        await forked(stage, **request_)
    assert refused.value.field == field


async def test_a_session_whose_agent_runs_is_forked_only_by_who_takes_it_live(stage: Stage) -> None:
    await stage.running()
    stage.agent.workspace = WORK
    with pytest.raises(Conflict, match="is running") as refused:
        await forked(stage)
    assert "moorage stop calm-cove" in refused.value.hint
    assert "--live" in refused.value.hint
    (fork,) = await forked(stage, live=True)
    assert any("half written" in said.message for said in stage.said if said.step == "warning")
    assert (await started(stage, fork.name)).unpacked == [WORK]


async def test_an_agent_that_ended_by_itself_is_at_rest_though_nobody_has_noted_it(stage: Stage) -> None:
    await stage.running()
    stage.agent.workspace = WORK
    stage.agent.end(ExitStatus(code=0))
    assert (await stage.verbs.fork_plan("calm-cove", ForkRequest())).success


async def test_a_paused_session_has_no_pod_to_copy_from_and_the_hint_brings_it_back(stage: Stage) -> None:
    await stopped(stage)
    await stage.verbs.pause("calm-cove", stage.said.append)
    with pytest.raises(Conflict, match="no Pod to copy") as refused:
        await forked(stage, method="copy")
    assert "moorage resume calm-cove && moorage stop calm-cove" in refused.value.hint


async def test_a_workspace_that_changes_while_it_is_copied_is_no_fork(stage: Stage) -> None:
    await stopped(stage)
    agent = stage.agent
    agent.copied = lambda: setattr(agent, "workspace", tar_of(work="other"))
    with pytest.raises(Conflict, match="changed while it was copied"):
        await forked(stage)
    assert [one.name for one in await stage.store.sessions.list_all()] == ["calm-cove"]
    assert _spooled(stage) == []


async def test_a_copy_that_breaks_leaves_nothing(stage: Stage) -> None:
    await stopped(stage)
    stage.agent.workspace = WORK[:700]
    with pytest.raises(HelperError, match="the archive of the workspace"):
        await forked(stage)
    assert [one.name for one in await stage.store.sessions.list_all()] == ["calm-cove"]
    assert _spooled(stage) == []


async def test_a_fork_that_is_killed_before_it_is_on_record_leaves_nothing_for_long(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stopped(stage)
    with monkeypatch.context() as dying:
        dying.setattr(stage.store.sessions, "add", _die)
        with pytest.raises(asyncio.CancelledError):
            await forked(stage)
    assert len(_spooled(stage)) == 1
    (fork,) = await forked(stage)
    assert _spooled(stage) == [f"{fork.id}.tar"]


async def _die(*args: object) -> None:
    raise asyncio.CancelledError


@pytest.fixture
def untrue(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is unpacked is not what was sent."""
    materialize = FakeLink.materialize

    async def other(link: FakeLink, *args: Any, **more: Any) -> bool:
        done = await materialize(link, *args, **more)
        link.agent.workspace = tar_of(work="tampered")
        return done

    monkeypatch.setattr(FakeLink, "materialize", other)


async def test_a_workspace_that_is_not_equal_gets_no_agent(stage: Stage, untrue: None) -> None:
    await stopped(stage)
    (fork,) = await forked(stage)
    with pytest.raises(SessionFailed, match="the copy is not true") as failed:
        await stage.verbs.resume(fork.name, stage.said.append)
    assert failed.value.details["category"] == "integrity"
    there = await stage.record(fork.name)
    assert (there.filled, there.ever_ran) == ("", False)
    assert not any(line.startswith("start") and fork.id in line for line in stage.log)


async def test_the_marker_alone_starts_no_fork(stage: Stage) -> None:
    """It was unpacked, and then we died before anything was compared."""
    await stopped(stage)
    (fork,) = await forked(stage)
    assert fork.source is not None
    stage.agents = Pods(stage.agents, tar_of(work="tampered"), fork.source.marker)
    with pytest.raises(SessionFailed, match="not true"):
        await stage.verbs.resume(fork.name, stage.said.append)
    assert not (await stage.record(fork.name)).ever_ran


async def test_a_fork_is_paused_reset_and_removed_as_any_session(stage: Stage) -> None:
    await stopped(stage)
    (fork,) = await forked(stage)
    await started(stage, fork.name)
    await stage.verbs.reset(fork.name, stage.said.append)
    assert [line for line in stage.log if line == "materialize"] == ["materialize"]
    await stage.verbs.remove(fork.name, stage.said.append)
    assert stage.cluster.only(PODS)["metadata"]["name"] == (await stage.record()).inventory.pod_name
    assert stage.cluster.only(CLAIMS)["metadata"]["name"] == (await stage.record()).inventory.claim_name
    assert _spooled(stage) == []


async def test_an_emptydir_is_copied_into_an_emptydir(stage: Stage) -> None:
    await stopped(stage, "empty_dir")
    (fork,) = await forked(stage)
    assert (await started(stage, fork.name)).unpacked == [WORK]
    assert stage.cluster.of(CLAIMS) == []


async def test_the_fork_of_a_given_claim_gets_a_claim_of_its_own(stage: Stage) -> None:
    stage.cluster.put(CLAIMS, claim("given", size="3Gi"))
    await stopped(stage, "existing_claim")
    (fork,) = await forked(stage)
    assert (await started(stage, fork.name)).unpacked == [WORK]
    made = stage.cluster.objects[CLAIMS.plural, fork.inventory.claim_name]
    assert fork.inventory.claim_name != "given"
    assert made["spec"]["resources"]["requests"]["storage"] == "3Gi"


def claim(name: str, size: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": name}, "spec": spec}


def _spooled(stage: Stage) -> list[str]:
    folder = stage.parts.sources._spool
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []
