"""The step of the connection test that makes a Pod: what it says, and that nothing of it is left, whatever
happens. On a real node: tests/contract/sessions/test_doctor_launch.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from moorage.core import owned
from moorage.core.errors import ApiProblem
from moorage.core.kinds import CLAIMS, PODS, Json, Resource
from moorage.core.session import Desired, Phase, Session
from moorage.ports.link import ExitStatus
from moorage.ports.sessions import Check, LaunchRequest
from moorage.ports.store import Lease
from moorage.sessions import probe
from moorage.sessions.checks import launched, workload
from moorage.sessions.checks.trial import Trial, run

from .fake_cluster import FORBIDDEN
from .fake_link import FakeAgent
from .stage import MODES, TEMPLATE, Stage, until

PROFILE = LaunchRequest(TEMPLATE, ["agent", "-x"], MODES["managed_pvc"], env={"TOKEN": "planted"})
DENIED = ApiProblem("status", 403, "Forbidden", 'admission webhook "w" denied the request: no', "no")
DONE = ExitStatus(code=0)
OK = "agentctl test over exec; a program ran in a Pod of the template, Pod and claim are gone again"


def answering(stage: Stage, monkeypatch: pytest.MonkeyPatch, said: str | None, how: ExitStatus) -> None:
    """Each program that is started prints this (None: the UID of its Pod) and ends so."""
    made = stage.agent_of

    def agent_of(uid: str) -> FakeAgent:
        agent = made(uid)

        def end() -> None:
            agent.write((agent.pod_uid if said is None else said).encode())
            agent.end(how)

        async def starting(start_id: str) -> None:
            asyncio.get_running_loop().call_soon(end)

        agent.starting = starting
        return agent

    monkeypatch.setattr(stage, "agent_of", agent_of)


def reviewing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks what it may do may do everything."""
    create = stage.cluster.create

    async def reviewed(resource: Resource, obj: Json, *args: Any, **more: Any) -> Json:
        if resource.plural.startswith("self"):
            return {"status": {"allowed": True, "userInfo": {"username": "ann"}}}
        return await create(resource, obj, *args, **more)

    monkeypatch.setattr(stage.cluster, "create", reviewed)


async def tried(stage: Stage, profile: LaunchRequest | None = PROFILE) -> Check:
    """The steps that draft a session of the profile, then the launch."""
    trial = Trial(stage.parts, stage.parts.executors.chosen(), profile, stage.cluster, stage.said.append)
    await workload.template(trial)
    await workload.storage(trial)
    stage.cluster.calls.clear()
    return await run(launched.STEP, trial)


async def probes(stage: Stage) -> list[Session]:
    return await stage.store.sessions.list_all(include_archived=True)


def left(stage: Stage) -> list[str]:
    """Pods and claims."""
    return [obj["metadata"]["name"] for kind in (PODS, CLAIMS) for obj in stage.cluster.of(kind)]


async def test_agentctl_answers_from_a_pod_of_the_template_and_nothing_is_left(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(stage, monkeypatch, None, DONE)
    seen: list[dict[str, str]] = []
    stage.cluster.posted = lambda obj: seen.append(obj["metadata"]["labels"])
    check = await tried(stage)
    assert (check.key, check.status, check.detail) == ("launch", "ok", OK)
    assert left(stage) == []
    assert await probes(stage) == []
    assert [call.split("/")[0] for call in stage.cluster.writes()] == [
        "create persistentvolumeclaims",
        "create pods",
        "delete pods",
        "delete persistentvolumeclaims",
    ]
    assert all(call.uid for call in stage.cluster.calls if call.verb == "delete")
    assert all(labels[owned.TASK_LABEL].startswith("doctor-") for labels in seen)
    assert len({labels[owned.SESSION_LABEL] for labels in seen}) == 1


async def test_it_starts_nothing_of_a_persons(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(stage, monkeypatch, None, DONE)
    await tried(stage)
    (agent,) = stage.agents.values()
    assert [(list(spec.argv), spec.env) for spec in agent.starts] == [
        (["/opt/moorage/agentctl", "version"], {})
    ]


@dataclass(frozen=True)
class Wrong:
    """What is wrong, and what is said of it."""

    detail: str
    fix: str
    breaks: Callable[[Stage], object] = lambda stage: None
    said: str | None = None
    how: ExitStatus = DONE
    profile: LaunchRequest = PROFILE


WRONG = {
    "the Pod is refused": Wrong(
        'webhook "w" denied', "ask the owner of", lambda stage: stage.cluster.fail("create", PODS, DENIED)
    ),
    "the claim is refused": Wrong(
        'webhook "w" denied', "ask the owner of", lambda stage: stage.cluster.fail("create", CLAIMS, DENIED)
    ),
    "it does not start in time": Wrong(
        "is not running after -1 s",
        launched.SEE_IT,
        lambda stage: setattr(stage.cluster, "starts", False),
        profile=replace(PROFILE, start_timeout=-1.0),
    ),
    "a program does not succeed": Wrong("did not succeed: code 3", launched.SEE_IT, how=ExitStatus(code=3)),
    "a program is killed": Wrong("signal 31", launched.SEE_IT, how=ExitStatus(signal=31)),
    "output does not arrive": Wrong("did not arrive here", launched.SEE_IT, said="of another Pod"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
async def test_what_goes_wrong_is_said_and_nothing_is_left(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, wrong: Wrong
) -> None:
    answering(stage, monkeypatch, wrong.said, wrong.how)
    wrong.breaks(stage)
    check = await tried(stage, wrong.profile)
    assert check.status == "failed"
    assert wrong.detail in check.detail
    assert wrong.fix in check.fix
    assert check.fix
    assert "moorage events doctor-" not in check.fix, "of what is gone nothing can be asked"
    assert left(stage) == []
    assert await probes(stage) == []


async def test_a_launch_without_a_template_fails_and_makes_nothing(stage: Stage) -> None:
    check = await tried(stage, None)
    assert (check.status, check.detail) == ("failed", "a launch was asked for, and no template was given")
    assert check.fix == launched.GIVE_ONE
    assert stage.cluster.writes() == []


async def test_a_probe_that_cannot_be_removed_is_named_with_the_command_that_does(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(stage, monkeypatch, None, DONE)
    stage.cluster.fail("delete", PODS, FORBIDDEN, lasting=True)
    check = await tried(stage)
    (made,) = await probes(stage)
    assert check.status == "failed"
    assert f"its probe {made.name} may be left" in check.detail
    assert check.fix == f"remove it with: moorage rm {made.name}"
    stage.cluster.faults.clear()
    await stage.verbs.remove(made.name, stage.said.append)
    assert left(stage) == []


async def test_a_pod_that_never_goes_is_not_waited_for_without_end(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(stage, monkeypatch, None, DONE)
    monkeypatch.setattr(probe, "REMOVAL_LIMIT", 0.05)
    stage.cluster.stuck = True
    check = await tried(stage)
    assert "may be left: it is not gone after" in check.detail
    (made,) = await probes(stage)
    assert made.intent.desired is Desired.DELETED, "whoever comes next goes on with it"


async def begun(stage: Stage) -> asyncio.Task[Check]:
    """A test that waits for a Pod that does not start."""
    stage.cluster.starts = False
    task = asyncio.create_task(tried(stage))
    await until(stage, lambda: bool(stage.cluster.of(PODS)), task)
    looks = stage.looks
    await until(stage, lambda: stage.looks > looks, task)  # so it is on record, too
    return task


async def test_whoever_interrupts_it_leaves_nothing(stage: Stage) -> None:
    task = await begun(stage)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert any("Ctrl-C again leaves that" in item.message for item in stage.said)
    assert left(stage) == []
    assert await probes(stage) == []


async def interrupted_twice(stage: Stage) -> Session:
    """Its probe is left, and nobody drives it."""
    stage.cluster.stuck = True
    task = await begun(stage)
    task.cancel()
    deleting = lambda: any(pod["metadata"].get("deletionTimestamp") for pod in stage.cluster.of(PODS))  # noqa: E731
    await until(stage, deleting, task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stage.cluster.stuck, stage.cluster.starts = False, True
    (made,) = await probes(stage)
    for pod in stage.cluster.of(PODS):  # its kubelet comes to it
        stage.cluster.drop(PODS, pod["metadata"]["name"])
    assert left(stage)
    return made


async def test_whoever_interrupts_the_removal_leaves_it_to_the_next_run(stage: Stage) -> None:
    await interrupted_twice(stage)
    await stage.launch()
    assert left(stage) == []
    assert [session.name for session in await probes(stage)] == ["calm-cove"]


async def killed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A probe whose process is gone: nobody let go of its lease, no wish to remove it is on record."""
    remove, release = probe.remove, stage.store.leases.release

    async def not_removed(*args: object) -> str:
        return ""

    async def not_released(lease: Lease) -> None: ...

    monkeypatch.setattr(probe, "remove", not_removed)
    monkeypatch.setattr(stage.store.leases, "release", not_released)
    task = await begun(stage)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    monkeypatch.setattr(probe, "remove", remove)
    monkeypatch.setattr(stage.store.leases, "release", release)
    (made,) = [session for session in await probes(stage) if probe.is_probe(session)]
    assert made.intent.desired is Desired.RUNNING
    return made


async def test_a_living_probe_is_left_to_who_drives_it(stage: Stage) -> None:
    task = await begun(stage)
    await probe.sweep(stage.parts)
    (made,) = await probes(stage)
    assert (made.intent.desired, len(left(stage))) == (Desired.RUNNING, 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("verb", ["run", "rm", "doctor --launch"])
async def test_what_a_killed_test_left_goes_with_the_next_command_and_only_by_proof(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    await stage.launch()
    made = await killed(stage, monkeypatch)
    uid = stage.cluster.only(PODS)["metadata"]["uid"]
    monkeypatch.setattr("moorage.store.leases.died_here", lambda *owners: True)
    stage.cluster.starts = True
    stage.cluster.calls.clear()
    if verb == "run":
        await stage.verbs.launch(replace(PROFILE, name="other"), stage.said.append)
    elif verb == "rm":
        await stage.verbs.remove("calm-cove", stage.said.append)
    else:
        answering(stage, monkeypatch, None, DONE)
        reviewing(stage, monkeypatch)
        found = await stage.verbs.doctor(PROFILE, launch=True)
        assert (found.success, found.steps[-1].detail) == (True, OK)
    assert made.name not in [session.name for session in await probes(stage)]
    assert made.inventory.pod_name not in left(stage)
    gone = [
        call for call in stage.cluster.calls if (call.verb, call.name) == ("delete", made.inventory.pod_name)
    ]
    assert [call.uid for call in gone] == [uid]
    shut_out = [call for call in stage.cluster.calls if (call.verb, call.plural) == ("patch", "pods")]
    assert [call.name for call in shut_out] == [made.inventory.pod_name], (
        "what the dead one sent may still arrive"
    )


async def test_a_plain_test_changes_nothing_of_what_was_left(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await killed(stage, monkeypatch)
    monkeypatch.setattr("moorage.store.leases.died_here", lambda *owners: True)
    stage.cluster.calls.clear()
    reviewing(stage, monkeypatch)
    assert (await stage.verbs.doctor(PROFILE)).success
    assert [call for call in stage.cluster.writes() if "pods" in call or "claims" in call] == []
    assert (await stage.record(made.name)).state.phase is not Phase.CLEANING
