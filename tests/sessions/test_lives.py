"""What the verbs do to the cluster and to the record, from start to removal."""

from __future__ import annotations

import asyncio

import pytest

from moorage.core.errors import (
    AccessDenied,
    Conflict,
    IdentityChanged,
    NameBlocked,
    NotFound,
    SessionFailed,
    UsageError,
    WorkspaceLost,
)
from moorage.core.kinds import CLAIMS, NAMESPACES, PODS, Json
from moorage.core.session import Phase, Session
from moorage.ports.cluster import ServerIdentity
from moorage.ports.link import ProcessSpec

from .fake_cluster import FORBIDDEN, PROXY_404, TIMEOUT
from .stage import Stage, rounds, shown, until

POD, CLAIM = "pods", "persistentvolumeclaims"


async def test_stop_ends_the_agent_and_keeps_pod_and_workspace(stage: Stage) -> None:
    session = await stage.running()
    stage.cluster.calls.clear()
    view = await stage.verbs.stop("calm-cove", stage.said.append)
    assert (view.session.state.phase, view.session.state.pod) == (Phase.PRESERVED, "kept")
    assert "drain" in stage.log
    assert stage.cluster.writes() == []
    assert stage.cluster.only(PODS)["metadata"]["uid"] == session.inventory.pod_uid


async def test_pause_drains_first_and_deletes_the_pod_and_nothing_else(stage: Stage) -> None:
    session = await stage.running()
    stage.cluster.calls.clear()
    view = await stage.verbs.pause("calm-cove", stage.said.append)
    assert (view.session.state.phase, view.session.state.pod) == (Phase.PRESERVED, "released")
    assert stage.log.count("drain") == 1
    assert stage.cluster.writes() == [f"delete {POD}/{session.inventory.pod_name}"]
    assert stage.cluster.of(PODS) == []
    assert stage.cluster.only(CLAIMS)["metadata"]["uid"] == session.inventory.claim_uid


async def test_resume_makes_a_new_pod_from_the_launch_snapshot_on_the_same_claim(stage: Stage) -> None:
    first = await stage.running()
    await stage.verbs.pause("calm-cove", stage.said.append)
    second = (await stage.verbs.resume("calm-cove", stage.said.append)).session
    assert second.state.phase is Phase.RUNNING
    assert second.inventory.pod_uid not in ("", first.inventory.pod_uid)
    assert second.inventory.claim_uid == first.inventory.claim_uid
    assert second.inventory.snapshot == first.inventory.snapshot
    assert len(stage.cluster.of(CLAIMS)) == 1


async def test_a_running_agent_is_not_started_again_by_resume(stage: Stage) -> None:
    await stage.running()
    await stage.verbs.resume("calm-cove", stage.said.append)
    assert len(stage.agent.starts) == 1


async def test_rm_deletes_the_pod_then_the_claim_we_made_each_by_its_uid(stage: Stage) -> None:
    session = await stage.running()
    stage.cluster.calls.clear()
    await stage.verbs.remove("calm-cove", stage.said.append)
    deletes = [(call.plural, call.uid) for call in stage.cluster.calls if call.verb == "delete"]
    assert deletes == [(POD, session.inventory.pod_uid), (CLAIM, session.inventory.claim_uid)]
    assert (stage.cluster.of(PODS), stage.cluster.of(CLAIMS)) == ([], [])
    assert (await stage.record(session.id)).state.phase is Phase.DELETED


async def test_the_claim_is_not_touched_while_the_pod_still_terminates(stage: Stage) -> None:
    session = await stage.running()
    stage.cluster.stuck = True
    stage.cluster.calls.clear()
    removing = asyncio.create_task(stage.verbs.remove("calm-cove", stage.said.append))
    await until(stage, lambda: any(call.verb == "delete" for call in stage.cluster.calls), removing)
    await rounds(stage, 3, removing)
    assert stage.cluster.writes() == [f"delete {POD}/{session.inventory.pod_name}"]
    stage.cluster.drop(PODS, session.inventory.pod_name)
    await removing
    assert stage.cluster.of(CLAIMS) == []


async def test_nothing_is_deleted_while_the_pod_cannot_be_read(stage: Stage) -> None:
    session = await stage.running()
    stage.cluster.calls.clear()
    for problem in (TIMEOUT, PROXY_404, PROXY_404):
        stage.cluster.fail("get", PODS, problem)
    await stage.verbs.remove("calm-cove", stage.said.append)
    first = next(n for n, call in enumerate(stage.cluster.calls) if call.verb == "delete")
    assert [str(c) for c in stage.cluster.calls[:first]].count(f"get {POD}/{session.inventory.pod_name}") > 3
    assert stage.cluster.objects.keys() == {("namespaces", "agents")}


async def test_nothing_is_deleted_while_the_pod_may_not_be_read(stage: Stage) -> None:
    await stage.running()
    stage.cluster.calls.clear()
    for _ in range(9):
        stage.cluster.fail("get", PODS, FORBIDDEN)
    with pytest.raises(AccessDenied):
        await stage.verbs.remove("calm-cove", stage.said.append)
    stage.cluster.faults.clear()
    assert [call.verb for call in stage.cluster.calls if call.verb == "delete"] == []
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert stage.cluster.objects.keys() == {("namespaces", "agents")}


async def test_a_claim_that_was_given_is_kept_by_every_verb(stage: Stage) -> None:
    given = stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    await stage.running("existing_claim")
    await stage.verbs.pause("calm-cove", stage.said.append)
    await stage.verbs.resume("calm-cove", stage.said.append)
    planned = await stage.verbs.remove("calm-cove", stage.said.append)
    assert stage.cluster.only(CLAIMS) == given
    assert planned.keeps == (f"pvc/given (uid {given['metadata']['uid']}): not created by us",)


async def test_a_given_claim_that_was_made_anew_meanwhile_is_not_mounted(stage: Stage) -> None:
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    await stage.running("existing_claim")
    await stage.verbs.pause("calm-cove", stage.said.append)
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    with pytest.raises(NameBlocked):
        await stage.verbs.resume("calm-cove", stage.said.append)
    assert stage.cluster.of(PODS) == []


def foreign_pod(session: Session) -> Json:
    """Under our name, with a container of our main container's name: only the proof tells."""
    return {
        "metadata": {"name": session.inventory.pod_name},
        "spec": {"containers": [{"name": "agent"}]},
    }


async def test_a_foreign_pod_under_our_name_is_neither_used_nor_removed(stage: Stage) -> None:
    session = await stage.launch()
    foreign = stage.cluster.put(PODS, foreign_pod(session))
    with pytest.raises(NameBlocked, match=str(foreign["metadata"]["uid"])):
        await stage.verbs.resume("calm-cove", stage.said.append)
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert stage.cluster.only(PODS) == foreign
    assert stage.delivered == set()


async def test_a_foreign_claim_under_our_name_is_neither_used_nor_removed(stage: Stage) -> None:
    session = await stage.launch()
    foreign = stage.cluster.put(CLAIMS, {"metadata": {"name": session.inventory.claim_name}})
    with pytest.raises(NameBlocked):
        await stage.verbs.resume("calm-cove", stage.said.append)
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert stage.cluster.only(CLAIMS) == foreign
    assert stage.cluster.writes() == []


async def test_a_pod_that_took_our_pods_name_is_left_alone_and_so_is_the_claim(stage: Stage) -> None:
    session = await stage.running()
    stage.cluster.drop(PODS, session.inventory.pod_name)
    foreign = stage.cluster.put(PODS, foreign_pod(session))
    stage.cluster.calls.clear()
    for verb in (stage.verbs.stop, stage.verbs.resume, stage.verbs.remove):
        with pytest.raises(NameBlocked):
            await verb("calm-cove", stage.said.append)
    with pytest.raises(Conflict, match="no running Pod of its own"):
        await stage.verbs.exec("calm-cove", ProcessSpec(["id"]))
    assert stage.cluster.only(PODS) == foreign
    assert stage.cluster.writes() == []


@pytest.mark.parametrize("change", ["namespace remade", "namespace gone", "another server"])
async def test_in_another_cluster_or_namespace_nothing_is_changed(stage: Stage, change: str) -> None:
    await stage.running()
    if change == "namespace remade":
        stage.cluster.put(NAMESPACES, {"metadata": {"name": "agents"}})
    elif change == "namespace gone":
        stage.cluster.drop(NAMESPACES, "agents")
    else:
        stage.cluster.put(NAMESPACES, {"metadata": {"name": "agents"}})
        stage.cluster.server = ServerIdentity("https://other.test", "ca-2", "v1.36.0")
    stage.cluster.calls.clear()
    for verb in (stage.verbs.stop, stage.verbs.pause, stage.verbs.resume):
        with pytest.raises(IdentityChanged):
            await verb("calm-cove", stage.said.append)
    if change == "another server":
        with pytest.raises(IdentityChanged):
            await stage.verbs.remove("calm-cove", stage.said.append)
    else:  # all of it went with its namespace, so only the record is left to remove
        await stage.verbs.remove("calm-cove", stage.said.append)
        assert await stage.verbs.list_views() == []
    assert stage.cluster.writes() == []
    assert len(stage.agent.starts) == 1


async def test_where_the_namespace_may_not_be_read_the_api_server_stands_for_it(stage: Stage) -> None:
    stage.cluster.fail("get", NAMESPACES, FORBIDDEN, lasting=True)
    session = await stage.running()
    assert session.inventory.namespace_uid == ""
    stage.cluster.server = ServerIdentity("https://api.test", "ca-2", "v1.36.0")
    with pytest.raises(IdentityChanged):
        await stage.verbs.remove("calm-cove", stage.said.append)
    assert len(stage.cluster.of(PODS)) == 1


async def test_a_claim_that_somebody_deleted_is_a_lost_workspace_not_an_empty_new_one(stage: Stage) -> None:
    session = await stage.running()
    await stage.verbs.pause("calm-cove", stage.said.append)
    stage.cluster.drop(CLAIMS, session.inventory.claim_name)
    stage.cluster.calls.clear()
    with pytest.raises(WorkspaceLost, match=session.inventory.claim_uid):
        await stage.verbs.resume("calm-cove", stage.said.append)
    assert stage.cluster.writes() == []


@pytest.mark.parametrize("verb", ["stop", "resume"])
async def test_an_emptydir_that_went_with_its_pod_is_said_to_be_lost(stage: Stage, verb: str) -> None:
    session = await stage.running("empty_dir")
    stage.cluster.drop(PODS, session.inventory.pod_name)
    stage.cluster.calls.clear()
    carry_out = stage.verbs.stop if verb == "stop" else stage.verbs.resume
    with pytest.raises(WorkspaceLost, match="emptyDir"):
        await carry_out("calm-cove", stage.said.append)
    assert stage.cluster.writes() == []
    assert (await stage.record()).state.phase is Phase.LOST


async def test_an_emptydir_is_given_up_only_when_a_person_says_so(stage: Stage) -> None:
    await stage.running("empty_dir")
    stage.cluster.calls.clear()
    with pytest.raises(UsageError) as refused:
        await stage.verbs.pause("calm-cove", stage.said.append)
    assert "--discard-workspace" in refused.value.hint
    assert stage.cluster.writes() == []
    view = await stage.verbs.pause("calm-cove", stage.said.append, discard_workspace=True)
    assert view.session.state.pod == "released"


async def test_archive_keeps_what_was_said_and_delete_does_not(stage: Stage) -> None:
    await stage.running()
    stage.agent.write(b"it is done\n")
    await stage.verbs.archive("calm-cove", stage.said.append)
    assert stage.cluster.objects.keys() == {("namespaces", "agents")}
    kept = await stage.record()
    assert kept.state.phase is Phase.ARCHIVED
    assert shown(await stage.store.transcripts.read(kept.id, 0)) == b"it is done\n"
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert await stage.store.transcripts.read(kept.id, 0) == []


@pytest.mark.parametrize("verb", ["archive", "remove"])
async def test_the_secrets_of_a_session_go_with_its_cluster_objects(stage: Stage, verb: str) -> None:
    session = await stage.running(env={"TOKEN": "s3cret"})
    await getattr(stage.verbs, verb)("calm-cove", stage.said.append)
    for ref in (session.inventory.bootstrap_ref, session.agent.env_ref):
        with pytest.raises(NotFound):
            await stage.store.secrets.get(ref)


async def test_a_failed_start_releases_its_pod_and_keeps_the_claim(stage: Stage) -> None:
    session = await stage.launch()
    stage.cluster.starts = False
    resuming = asyncio.create_task(stage.verbs.resume("calm-cove", stage.said.append))
    await until(stage, lambda: stage.cluster.of(PODS) != [], resuming)
    stage.clock.time += session.start_timeout + 1
    stage.cluster.wake()
    with pytest.raises(SessionFailed):
        await resuming
    assert stage.cluster.of(PODS) == []
    assert len(stage.cluster.of(CLAIMS)) == 1
