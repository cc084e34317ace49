"""What is shown and decided comes from a look at the exact object; what could not be seen is Unknown."""

from __future__ import annotations

import asyncio
from copy import deepcopy

import pytest

from moorage.core.errors import ApiProblem, Conflict
from moorage.core.kinds import CLAIMS, NAMESPACES, PODS, Json
from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.plans.observation import ClaimSeen, PodSeen, Verdict
from moorage.core.session import Session
from moorage.engine.observe import Observer
from moorage.ports.cluster import ServerIdentity
from moorage.ports.sessions import LaunchRequest

from .fake_cluster import FORBIDDEN, PROXY_404, TIMEOUT
from .stage import MODES, TEMPLATE, Stage, until


def observer(stage: Stage) -> Observer:
    return Observer(stage.cluster, stage.clock)


@pytest.mark.parametrize("problem", [TIMEOUT, PROXY_404, FORBIDDEN], ids=["timeout", "proxy page", "denied"])
async def test_a_failed_read_is_unknown_never_absent(stage: Stage, problem: ApiProblem) -> None:
    session = await stage.running()
    stage.cluster.fail("get", PODS, problem)
    stage.cluster.fail("get", CLAIMS, problem)
    assert isinstance(await observer(stage).pod(session), Unknown)
    assert isinstance(await observer(stage).claim(session), Unknown)


async def test_absent_is_what_the_server_says_of_this_very_name(stage: Stage) -> None:
    session = await stage.launch()
    assert await observer(stage).pod(session) == Absent()
    assert await observer(stage).claim(session) == Absent()


async def test_pod_and_claim_are_read_by_their_exact_names_and_never_listed(stage: Stage) -> None:
    session = await stage.running()
    await stage.verbs.list_views()
    await stage.verbs.pause("calm-cove", stage.said.append)
    reads = [call for call in stage.cluster.calls if call.verb in ("get", "list")]
    assert {c.name for c in reads if c.plural == "pods"} == {session.inventory.pod_name}
    assert {c.name for c in reads if c.plural == "persistentvolumeclaims"} == {session.inventory.claim_name}


def value(seen: Observed[PodSeen]) -> PodSeen:
    assert isinstance(seen, Present)
    return seen.value


async def test_the_main_container_is_found_by_its_name(stage: Stage) -> None:
    session = await stage.running()
    pod = stage.cluster.only(PODS)
    sidecar: Json = {"name": "mesh", "state": {"running": {}}, "containerID": "other"}
    pod["status"]["containerStatuses"].insert(0, sidecar)
    seen = value(await observer(stage).pod(session))
    assert (seen.main_running, seen.container_id) == (True, "agent")
    pod["status"]["containerStatuses"][1]["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    assert not value(await observer(stage).pod(session)).main_running


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ("nothing", Present(True)),
        ("namespace remade", Absent()),
        ("namespace gone", Absent()),
        ("namespace gone, as another server says", Present(False)),
        ("another server with another namespace", Present(False)),
        ("the API server renewed its address and certificate", Present(True)),
    ],
)
async def test_the_namespaces_uid_is_what_tells_clusters_apart(
    stage: Stage, change: str, same: Observed[bool]
) -> None:
    session = await stage.launch()
    if "remade" in change or "another namespace" in change:
        stage.cluster.put(NAMESPACES, {"metadata": {"name": "agents"}})
    if "gone" in change:
        stage.cluster.drop(NAMESPACES, "agents")
    if "server" in change:
        stage.cluster.server = ServerIdentity("https://other.test", "ca-2", "v1.36.0")
    assert await observer(stage).same_cluster(session.inventory) == same


@pytest.mark.parametrize("problem", [TIMEOUT, PROXY_404], ids=["timeout", "proxy page"])
async def test_a_namespace_that_cannot_be_read_now_leaves_open_which_cluster_it_is(
    stage: Stage, problem: ApiProblem
) -> None:
    session = await stage.launch()
    stage.cluster.fail("get", NAMESPACES, problem)
    assert isinstance(await observer(stage).same_cluster(session.inventory), Unknown)


async def given_claim(stage: Stage, session: Session) -> ClaimSeen:
    seen = await observer(stage).claim(session)
    assert isinstance(seen, Present)
    return seen.value


async def test_a_given_claim_counts_by_the_uid_it_had_at_first_sight(stage: Stage) -> None:
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    session = await stage.running("existing_claim")
    assert (await given_claim(stage, session)).verdict is Verdict.OWNED
    assert not session.inventory.claim_created_by_us
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    assert (await given_claim(stage, session)).verdict is Verdict.FOREIGN


async def test_a_session_is_shown_by_a_fresh_look(stage: Stage) -> None:
    await stage.running()
    assert (await stage.verbs.view("calm-cove")).word == "Running"
    stage.cluster.only(PODS)["status"]["conditions"][0]["status"] = "False"
    assert (await stage.verbs.view("calm-cove")).word == "Unhealthy"


@pytest.mark.parametrize("what", ["the Pod", "the namespace", "another namespace"])
async def test_what_was_not_seen_is_shown_as_unknown_with_the_reason(stage: Stage, what: str) -> None:
    await stage.running()
    if what == "another namespace":
        stage.cluster.put(NAMESPACES, {"metadata": {"name": "agents"}})
    else:
        stage.cluster.fail("get", PODS if what == "the Pod" else NAMESPACES, TIMEOUT)
    view = await stage.verbs.view("calm-cove")
    assert (view.word, view.observed_at, view.container_state) == ("Unknown", 0.0, "")
    assert view.unknown


@pytest.mark.parametrize("when", ["while it ran", "while it was paused", "before it started"])
async def test_a_foreign_pod_of_our_name_is_not_shown_as_the_sessions_own(stage: Stage, when: str) -> None:
    session = await (stage.launch() if when == "before it started" else stage.running())
    if when == "while it was paused":
        await stage.verbs.pause("calm-cove", stage.said.append)
    theirs = {"metadata": {"name": session.inventory.pod_name}, "spec": {"nodeName": "their-node"}}
    uid = stage.cluster.put(PODS, theirs)["metadata"]["uid"]
    view = await stage.verbs.view("calm-cove")
    assert view.word == ("Starting" if when == "before it started" else "Unknown")
    assert (view.pod_phase, view.container_state, view.node, view.observed_at) == ("", "", "", 0.0)
    assert view.unknown.startswith("NameBlocked: ")
    assert uid in view.unknown
    assert view.diagnosis is not None
    assert view.diagnosis.category == "name_blocked"
    assert f"kubectl -n agents delete pod {session.inventory.pod_name}" in view.diagnosis.hint


async def test_the_log_of_a_foreign_pod_of_our_name_is_not_read(stage: Stage) -> None:
    session = await stage.running()
    read = [chunk async for chunk in stage.verbs.container_logs("calm-cove", "agent")]
    assert read == [f"log of agent in {session.inventory.pod_name}".encode()]
    stage.cluster.put(PODS, {"metadata": {"name": session.inventory.pod_name}})
    with pytest.raises(Conflict, match="no running Pod of its own"):
        await anext(aiter(stage.verbs.container_logs("calm-cove", "agent")))


async def test_a_pod_that_admission_changed_is_not_shown_as_the_sessions_own(stage: Stage) -> None:
    session = await stage.launch()
    sent: list[Json] = []
    stage.cluster.posted = lambda obj: sent.append(deepcopy(obj)) if obj["kind"] == "Pod" else None
    stage.cluster.fail("create", PODS, TIMEOUT)
    starting = asyncio.create_task(stage.verbs.resume("calm-cove", stage.said.append))
    await until(stage, lambda: bool(sent), starting)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    sent[0]["spec"]["hostPID"] = True
    stage.cluster.put(PODS, sent[0])
    view = await stage.verbs.view(session.name)
    assert (view.word, view.container_state) == ("Unknown", "")
    assert "spec.hostPID" in view.unknown


async def test_one_session_that_cannot_be_looked_at_hides_no_other(stage: Stage) -> None:
    await stage.running()
    other = LaunchRequest(TEMPLATE, ["agent"], MODES["empty_dir"], name="other-cove")
    await stage.verbs.launch(other, stage.said.append)
    stage.cluster.only(PODS)["metadata"] = "x"
    rows = {row.session.name: row for row in await stage.verbs.list_views()}
    assert rows["calm-cove"].word == "Unknown"
    assert rows["calm-cove"].unknown.startswith("it could not be looked at")
    assert (rows["other-cove"].unknown, rows["other-cove"].pod_phase) == ("", "Absent")
