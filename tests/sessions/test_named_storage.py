"""A claim or class that a launch names is looked for first: a slip of the pen leaves nothing behind."""

from __future__ import annotations

import asyncio

import pytest

from moorage.core.errors import ApiProblem, Conflict, MoorageError, SessionFailed
from moorage.core.kinds import CLAIMS, NAMESPACES, PODS, STORAGE_CLASSES, VOLUMES, Json, Resource
from moorage.core.owned import SESSION_LABEL
from moorage.core.session import WorkspaceMode, WorkspaceSpec
from moorage.ports.sessions import LaunchRequest
from moorage.sessions import launch as launching

from .fake_cluster import FORBIDDEN, PROXY_404, TIMEOUT
from .stage import MODES, TEMPLATE, Stage

FAST = WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Gi", storage_class="fast")
NAMED: dict[str, tuple[Resource, WorkspaceSpec]] = {
    "claim": (CLAIMS, MODES["existing_claim"]),
    "class": (STORAGE_CLASSES, FAST),
}
UNDECIDED = {"denied": FORBIDDEN, "timeout": TIMEOUT, "a proxy's page": PROXY_404}


async def launch(stage: Stage, workspace: WorkspaceSpec, name: str = "second") -> None:
    request = LaunchRequest(TEMPLATE, ["agent"], workspace, name=name)
    await stage.verbs.launch(request, stage.said.append)


async def refused(stage: Stage, workspace: WorkspaceSpec, error: type[MoorageError]) -> MoorageError:
    """The refusal of a launch that must leave nothing."""
    known = await stage.store.sessions.list_all(include_archived=True)
    written = stage.cluster.writes()
    with pytest.raises(error) as refusal:
        await launch(stage, workspace)
    assert await stage.store.sessions.list_all(include_archived=True) == known
    assert stage.cluster.writes() == written
    return refusal.value


@pytest.mark.parametrize(
    ("named", "field", "words"),
    [
        ("claim", "workspace.claim_name", ("claim given does not exist", "--claim NAME")),
        ("class", "workspace.storage_class", ("storage class fast does not exist", "--storage-class NAME")),
    ],
)
async def test_storage_that_is_not_there_is_refused_and_nothing_recorded(
    stage: Stage, named: str, field: str, words: tuple[str, str]
) -> None:
    error = await refused(stage, NAMED[named][1], SessionFailed)
    assert (error.field, error.details["category"]) == (field, "claim")
    assert words[0] in error.message
    assert words[1] in error.hint


@pytest.mark.parametrize("problem", UNDECIDED.values(), ids=UNDECIDED)
@pytest.mark.parametrize("named", NAMED)
async def test_a_read_that_decides_nothing_refuses_nothing(
    stage: Stage, named: str, problem: ApiProblem
) -> None:
    resource, workspace = NAMED[named]
    stage.cluster.fail("get", resource, problem)
    await launch(stage, workspace)
    assert (await stage.record("second")).inventory.snapshot.workspace == workspace


async def test_a_class_that_only_volumes_made_by_hand_bear_will_do(stage: Stage) -> None:
    stage.cluster.put(VOLUMES, {"metadata": {"name": "disk"}, "spec": {"storageClassName": "fast"}})
    await launch(stage, FAST)
    assert (await stage.record("second")).inventory.snapshot.workspace == FAST


async def test_whether_volumes_bear_a_class_is_not_guessed(stage: Stage) -> None:
    stage.cluster.fail("list", VOLUMES, FORBIDDEN)
    await launch(stage, FAST)
    assert (await stage.record("second")).inventory.snapshot.workspace == FAST


async def test_a_claim_that_many_may_mount_is_shared(stage: Stage) -> None:
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}, "spec": {"accessModes": ["ReadWriteMany"]}})
    await stage.running("existing_claim")
    await launch(stage, MODES["existing_claim"])
    assert (await stage.record("second")).inventory.claim_name == "given"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metadata": {"deletionTimestamp": "2026-11-29T10:00:00Z"}}, "is being deleted"),
        ({"status": {"phase": "Lost"}}, "has lost its volume"),
    ],
)
async def test_a_claim_that_no_pod_could_use_is_refused(
    stage: Stage, change: dict[str, Json], words: str
) -> None:
    given = stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    for part, values in change.items():
        given[part].update(values)
    assert words in (await refused(stage, MODES["existing_claim"], SessionFailed)).message


async def test_a_claim_in_use_by_another_session_is_refused_by_its_name(stage: Stage) -> None:
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    await stage.running("existing_claim")
    error = await refused(stage, MODES["existing_claim"], Conflict)
    assert error.message == "claim given is in use by session calm-cove"
    assert "moorage pause calm-cove" in error.hint
    await stage.verbs.stop("calm-cove", stage.said.append)
    await refused(stage, MODES["existing_claim"], Conflict)


@pytest.mark.parametrize("verb", ["pause", "archive", "remove"])
async def test_a_claim_that_a_session_has_let_go_of_is_free(stage: Stage, verb: str) -> None:
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    await stage.running("existing_claim")
    await getattr(stage.verbs, verb)("calm-cove", stage.said.append)
    await launch(stage, MODES["existing_claim"])
    assert (await stage.record("second")).inventory.claim_name == "given"


async def test_the_claim_of_another_session_is_never_taken(stage: Stage) -> None:
    owner = await stage.running()
    await stage.verbs.pause("calm-cove", stage.said.append)
    theirs = WorkspaceSpec(WorkspaceMode.EXISTING_CLAIM, claim_name=owner.inventory.claim_name)
    error = await refused(stage, theirs, Conflict)
    assert "is the workspace of session calm-cove" in error.message


async def test_a_claim_of_the_same_name_in_a_namespace_made_anew_is_another_one(stage: Stage) -> None:
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    await stage.running("existing_claim")
    stage.cluster.drop(PODS, stage.cluster.only(PODS)["metadata"]["name"])
    stage.cluster.put(NAMESPACES, {"metadata": {"name": stage.cluster.namespace}})
    await launch(stage, MODES["existing_claim"])
    assert (await stage.record("second")).inventory.claim_name == "given"


POD = {
    "metadata": {"name": "theirs", "labels": {SESSION_LABEL: "s-theirs"}},
    "spec": {"volumes": [{"name": "w", "persistentVolumeClaim": {"claimName": "given"}}]},
}
WORKSPACE = {"metadata": {"name": "given", "labels": {SESSION_LABEL: "s-theirs"}}}


def put_pod(stage: Stage, **metadata: Json) -> Json:
    pod = {**POD, "metadata": {"name": "theirs", **metadata}}
    return stage.cluster.put(PODS, pod)


@pytest.mark.parametrize("modes", [["ReadWriteOnce"], ["ReadWriteMany"]], ids=["one", "many"])
async def test_the_workspace_of_another_data_folders_session_is_not_taken_while_a_pod_uses_it(
    stage: Stage, modes: list[str]
) -> None:
    stage.cluster.put(CLAIMS, {**WORKSPACE, "spec": {"accessModes": modes}})
    put_pod(stage)
    error = await refused(stage, MODES["existing_claim"], Conflict)
    assert error.message == "claim given is in use by Pod theirs of session s-theirs"
    assert "MOORAGE_DATA_DIR" in error.hint


async def test_a_claim_of_nobody_that_another_data_folders_session_works_in_is_not_taken(
    stage: Stage,
) -> None:
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    put_pod(stage, labels={SESSION_LABEL: "s-theirs"})
    error = await refused(stage, MODES["existing_claim"], Conflict)
    assert "in use by Pod theirs of session s-theirs" in error.message


async def test_the_workspace_of_a_lost_data_folder_is_the_way_back_to_the_work_and_warned_of(
    stage: Stage,
) -> None:
    stage.cluster.put(CLAIMS, WORKSPACE)
    put_pod(stage)["status"]["phase"] = "Succeeded"
    await launch(stage, MODES["existing_claim"])
    (warning,) = [said.message for said in stage.said if said.step == "warning"]
    assert "is the workspace of session s-theirs, which is not on record here" in warning
    assert "it is not in use" in warning


async def test_a_workspace_of_which_it_cannot_be_read_whether_it_is_in_use_is_warned_of(stage: Stage) -> None:
    stage.cluster.put(CLAIMS, WORKSPACE)
    put_pod(stage)
    stage.cluster.fail("list", PODS, FORBIDDEN)
    await launch(stage, MODES["existing_claim"])
    (warning,) = [said.message for said in stage.said if said.step == "warning"]
    assert "whether it is in use could not be read" in warning


@pytest.mark.parametrize("claimed", ["given", "another"])
async def test_a_pod_that_is_of_no_session_or_uses_another_claim_is_not_our_matter(
    stage: Stage, claimed: str
) -> None:
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    pod = put_pod(stage, labels={SESSION_LABEL: "s-theirs"} if claimed == "another" else {})
    pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] = claimed
    await launch(stage, MODES["existing_claim"])
    assert [said for said in stage.said if said.step == "warning"] == []


async def test_of_two_launches_at_the_same_instant_one_gets_the_claim(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}})
    both_checked = asyncio.Barrier(2)

    async def meet(*args: object) -> None:
        await both_checked.wait()

    monkeypatch.setattr(launching, "dry_run", meet)
    outcomes = await asyncio.gather(
        *(launch(stage, MODES["existing_claim"], name) for name in ("one", "two")), return_exceptions=True
    )
    (refusal,) = [outcome for outcome in outcomes if outcome is not None]
    assert isinstance(refusal, Conflict)
    (winner,) = await stage.store.sessions.list_all()
    assert f"claim given is in use by session {winner.name}" in refusal.message
    assert f"moorage pause {winner.name}" in refusal.hint


async def test_with_a_shared_claim_both_may_work(stage: Stage) -> None:
    stage.cluster.put(CLAIMS, {"metadata": {"name": "given"}, "spec": {"accessModes": ["ReadWriteMany"]}})
    await asyncio.gather(*(launch(stage, MODES["existing_claim"], name) for name in ("one", "two")))
    assert len(await stage.store.sessions.list_all()) == 2
