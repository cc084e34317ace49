"""A fork by the storage driver: the claim names what it is cloned from; the clone is believed once proved."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.errors import Conflict, SessionFailed
from moorage.core.kinds import CLAIMS, STORAGE_CLASSES, VOLUMES, Json
from moorage.core.session import Phase, Session
from moorage.ports.forks import ForkRequest

from .stage import Stage
from .test_forks import WORK, Pods, tar_of

DRIVER = "disks.csi.example"


@pytest.fixture
def driver(stage: Stage) -> None:
    """A class of a CSI driver, and what a claim in it looks like once it is bound."""
    stage.cluster.put(STORAGE_CLASSES, {"metadata": {"name": "fast"}, "provisioner": DRIVER})
    stage.cluster.put(VOLUMES, {"metadata": {"name": "pv-1"}, "spec": {"csi": {"driver": DRIVER}}})

    def provision(obj: Json) -> None:
        if obj["kind"] == "PersistentVolumeClaim":
            obj["spec"] |= {"storageClassName": "fast", "volumeName": "pv-1"}

    stage.cluster.admission = provision


async def at_rest(stage: Stage, **more: Any) -> Session:
    await stage.running(**more)
    stage.agent.workspace = WORK
    return (await stage.verbs.stop("calm-cove", stage.said.append)).session


async def cloned(stage: Stage, **request: Any) -> Session:
    (fork,) = await stage.verbs.fork("calm-cove", ForkRequest(method="clone", **request), stage.said.append)
    return fork


async def start(stage: Stage, fork: Session, workspace: bytes = WORK, marker: str = "") -> Session:
    stage.agents = Pods(stage.agents, workspace, marker)
    return (await stage.verbs.resume(fork.name, stage.said.append)).session


async def test_the_claim_is_made_from_the_other_and_nothing_is_sent_to_it(stage: Stage, driver: None) -> None:
    origin = await at_rest(stage)
    fork = await start(stage, await cloned(stage))
    made = stage.cluster.objects[CLAIMS.plural, fork.inventory.claim_name]["spec"]
    source = {"kind": "PersistentVolumeClaim", "name": origin.inventory.claim_name}
    assert (made["dataSource"], made["storageClassName"]) == (source, "fast")
    assert stage.agent_of(fork.inventory.pod_uid).unpacked == []
    assert "get tar" not in stage.log
    assert (fork.state.phase, fork.filled) == (Phase.RUNNING, fork.inventory.claim_uid)


async def test_a_driver_that_makes_an_empty_volume_starts_no_agent(stage: Stage, driver: None) -> None:
    await at_rest(stage)
    fork = await cloned(stage)
    with pytest.raises(SessionFailed, match="no true clone") as failed:
        await start(stage, fork, workspace=tar_of())
    assert "--method copy" in failed.value.hint
    assert not (await stage.record(fork.name)).ever_ran


async def test_a_paused_session_is_cloned_and_proved_by_the_marker_of_its_source(
    stage: Stage, driver: None, tmp_path: Any
) -> None:
    (tmp_path / "tree").mkdir()
    origin = await at_rest(stage, source=str(tmp_path / "tree"))
    await stage.verbs.pause("calm-cove", stage.said.append)
    assert origin.source is not None
    (fork,) = await stage.verbs.fork("calm-cove", ForkRequest(), stage.said.append)
    assert fork.source is not None
    assert fork.source.method == "clone"
    with pytest.raises(SessionFailed, match="does not bear the marker"):
        await start(stage, fork)
    assert not (await stage.record(fork.name)).ever_ran
    (other,) = await stage.verbs.fork("calm-cove", ForkRequest(), stage.said.append)
    assert (await start(stage, other, marker=origin.source.marker)).ever_ran


async def test_a_paused_session_that_nothing_could_prove_is_not_cloned(stage: Stage, driver: None) -> None:
    await at_rest(stage)
    await stage.verbs.pause("calm-cove", stage.said.append)
    with pytest.raises(Conflict, match="nothing would prove") as refused:
        await cloned(stage)
    assert "moorage resume calm-cove && moorage stop calm-cove" in refused.value.hint


async def test_a_claim_that_is_gone_meanwhile_is_told_and_nothing_is_made(stage: Stage, driver: None) -> None:
    await at_rest(stage)
    fork = await cloned(stage)
    await stage.verbs.remove("calm-cove", stage.said.append)
    with pytest.raises(SessionFailed, match="does not exist any more") as failed:
        await stage.verbs.resume(fork.name, stage.said.append)
    assert failed.value.details["category"] == "claim"
    assert stage.cluster.of(CLAIMS) == []


async def test_another_claim_of_that_name_is_not_cloned(stage: Stage, driver: None) -> None:
    origin = await at_rest(stage)
    fork = await cloned(stage)
    stage.cluster.drop(CLAIMS, origin.inventory.claim_name)
    stage.cluster.put(CLAIMS, {"metadata": {"name": origin.inventory.claim_name}, "spec": {}})
    with pytest.raises(SessionFailed, match="another one by now"):
        await stage.verbs.resume(fork.name, stage.said.append)


async def test_admission_that_drops_what_a_claim_is_cloned_from_is_not_borne(
    stage: Stage, driver: None
) -> None:
    await at_rest(stage)
    fork = await cloned(stage)
    provision = stage.cluster.admission

    def forgetful(obj: Json) -> None:
        provision(obj)
        obj["spec"].pop("dataSource", None)

    stage.cluster.admission = forgetful
    with pytest.raises(SessionFailed, match=r"changed spec\.dataSource"):
        await stage.verbs.resume(fork.name, stage.said.append)
    assert len(stage.cluster.of(CLAIMS)) == 1


async def test_a_class_that_does_not_clone_is_told_before_anything_is_recorded(stage: Stage) -> None:
    stage.cluster.put(STORAGE_CLASSES, {"metadata": {"name": "fast"}, "provisioner": "rancher.io/local-path"})
    stage.cluster.put(VOLUMES, {"metadata": {"name": "pv-1"}, "spec": {"hostPath": {"path": "/x"}}})
    stage.cluster.admission = lambda obj: (
        obj["spec"].update(storageClassName="fast", volumeName="pv-1")
        if obj["kind"] == "PersistentVolumeClaim"
        else None
    )
    await at_rest(stage)
    with pytest.raises(Conflict, match="no CSI volume"):
        await cloned(stage)
    assert len(await stage.store.sessions.list_all()) == 1
