"""The Pod we send: everything that is ours is there, and everything of the author's is as it was."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from moorage.core.errors import UsageError
from moorage.core.session import HelperSpec, Identity, Inventory, WorkspaceMode, WorkspaceSpec
from moorage.core.workload import (
    expected_node_arch,
    find_container,
    session_claim,
    session_pod,
)

Make = Callable[..., Inventory]
MANAGED, EXISTING = WorkspaceMode.MANAGED_PVC, WorkspaceMode.EXISTING_CLAIM
ENTRYPOINT = ["sh", "-c", "wait-for-helper"]
IMAGE = HelperSpec("image", "registry.example/helper@sha256:" + "ab" * 32)


def build(identity: Identity, inventory: Inventory) -> dict[str, Any]:
    return session_pod(identity, inventory, "nonce-1", entrypoint=ENTRYPOINT)


def main(pod: dict[str, Any]) -> dict[str, Any]:
    found = find_container(pod["spec"], "agent")
    assert found is not None
    return found


def test_pod_is_named_labelled_and_carries_its_nonce(identity: Identity, make_inventory: Make) -> None:
    metadata = build(identity, make_inventory())["metadata"]
    assert (metadata["namespace"], metadata["name"]) == ("obj-dev", "moorage-session1")
    assert metadata["labels"] == {
        "team": "blue",
        "app.kubernetes.io/managed-by": "moorage",
        "moorage.dev/install-id": "install1",
        "moorage.dev/executor-id": "exec1",
        "moorage.dev/profile-id": "profile1",
        "moorage.dev/task-id": "task1",
        "moorage.dev/session-id": "session1",
    }
    assert metadata["annotations"]["moorage.dev/create-nonce"] == "nonce-1"
    assert metadata["annotations"]["note"] == "kept"


def test_main_container_is_found_by_name_and_waits_for_the_helper(
    identity: Identity, make_inventory: Make
) -> None:
    agent = main(build(identity, make_inventory()))
    assert agent["command"] == ENTRYPOINT
    assert agent["volumeMounts"] == [
        {"name": "scratch", "mountPath": "/scratch"},
        {"name": "moorage-opt", "mountPath": "/opt/moorage"},
        {"name": "moorage-run", "mountPath": "/run/moorage"},
        {"name": "moorage-workspace", "mountPath": "/workspace"},
    ]
    assert [variable["name"] for variable in agent["env"]] == ["COLOR", "MOORAGE_POD_UID"]


def test_helper_image_needs_no_shell_and_cannot_be_changed_from_inside(
    identity: Identity, make_inventory: Make
) -> None:
    pod = build(identity, make_inventory(helper=IMAGE))
    assert main(pod)["command"] == ["/opt/moorage/agentctl", "wait"]
    opt = [m for m in main(pod)["volumeMounts"] if m["name"] == "moorage-opt"]
    assert opt == [
        {"name": "moorage-opt", "mountPath": "/opt/moorage", "readOnly": True},
        {"name": "moorage-opt", "mountPath": "/opt/moorage/journal", "subPath": "journal"},
    ]
    helper = pod["spec"]["initContainers"][0]
    assert (helper["name"], helper["image"]) == ("moorage-helper", IMAGE.image)


def test_helper_container_satisfies_restricted_and_states_its_resources(
    identity: Identity, make_inventory: Make
) -> None:
    helper = build(identity, make_inventory(helper=IMAGE))["spec"]["initContainers"][0]
    security = helper["securityContext"]
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["runAsNonRoot"] is True
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert set(helper["resources"]) == {"requests", "limits"}


@pytest.mark.parametrize(
    ("workspace", "source"),
    [
        (WorkspaceSpec(MANAGED), {"persistentVolumeClaim": {"claimName": "moorage-session1-workspace"}}),
        (WorkspaceSpec(EXISTING, claim_name="team"), {"persistentVolumeClaim": {"claimName": "team"}}),
        (WorkspaceSpec(WorkspaceMode.EMPTY_DIR), {"emptyDir": {}}),
    ],
)  # fmt: skip
def test_each_workspace_mode_has_its_volume(
    identity: Identity, make_inventory: Make, workspace: WorkspaceSpec, source: dict[str, Any]
) -> None:
    volumes = {v["name"]: v for v in build(identity, make_inventory(workspace=workspace))["spec"]["volumes"]}
    assert volumes["moorage-workspace"] == {"name": "moorage-workspace", **source}
    assert volumes["moorage-run"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "1Mi"}
    assert set(volumes) == {"scratch", "moorage-opt", "moorage-run", "moorage-workspace"}


@pytest.mark.parametrize(("platform", "arch"), [("linux/amd64", "amd64"), ("linux/arm64", "arm64")])
def test_pod_lands_on_a_node_of_its_platform(
    identity: Identity, make_inventory: Make, platform: str, arch: str
) -> None:
    pod = build(identity, make_inventory(platform=platform))
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux", "kubernetes.io/arch": arch}
    assert expected_node_arch(platform) == arch


def test_a_platform_without_a_helper_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        expected_node_arch("windows/amd64")
    assert refused.value.field == "platform"
    assert "linux/arm64" in refused.value.hint


SECURITY_CASES: list[tuple[dict[str, Any] | None, dict[str, Any] | None, Any]] = [
    (None, None, None),
    ({"runAsUser": 0}, None, None),
    ({"runAsUser": 1000}, None, 1000),
    ({"runAsUser": 1000, "runAsGroup": 2000}, None, 2000),
    ({"runAsUser": 1000}, {"runAsUser": 1001}, 1001),
    ({"runAsUser": 1000, "fsGroup": 7}, None, 7),
    ({"runAsUser": 1000}, {"runAsUser": 0}, None),
]


@pytest.mark.parametrize(("pod_context", "main_context", "fs_group"), SECURITY_CASES)
def test_a_claim_is_made_writable_for_the_main_containers_user(
    identity: Identity,
    make_inventory: Make,
    pod_context: dict[str, Any] | None,
    main_context: dict[str, Any] | None,
    fs_group: int | None,
) -> None:
    container: dict[str, Any] = {"name": "agent", "image": "x"}
    if main_context:
        container["securityContext"] = main_context
    spec: dict[str, Any] = {"containers": [container]}
    if pod_context:
        spec["securityContext"] = pod_context
    built = build(identity, make_inventory(template={"spec": spec}))["spec"].get("securityContext", {})
    assert built.get("fsGroup") == fs_group
    if fs_group not in (None, 7):
        assert built["fsGroupChangePolicy"] == "OnRootMismatch"


def test_what_the_author_wrote_is_kept(identity: Identity, make_inventory: Make) -> None:
    template = {
        "metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "false"}},
        "spec": {
            "enableServiceLinks": True,
            "automountServiceAccountToken": True,
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "gpu"}],
            "initContainers": [{"name": "prep", "image": "x"}],
            "containers": [{"name": "agent", "image": "x", "tty": True}],
        },
    }
    pod = build(identity, make_inventory(template=template, helper=IMAGE))
    assert pod["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "false"
    assert pod["spec"]["enableServiceLinks"] is True
    assert pod["spec"]["automountServiceAccountToken"] is True
    assert pod["spec"]["nodeSelector"]["disk"] == "ssd"
    assert pod["spec"]["tolerations"] == [{"key": "gpu"}]
    assert [c["name"] for c in pod["spec"]["initContainers"]] == ["moorage-helper", "prep"]
    assert main(pod)["tty"] is True


def test_building_a_pod_leaves_the_launch_snapshot_as_it_was(
    identity: Identity, make_inventory: Make
) -> None:
    inventory = make_inventory(helper=IMAGE)
    before = deepcopy(inventory.snapshot.template)
    first = build(identity, inventory)
    assert inventory.snapshot.template == before
    assert build(identity, inventory) == first


def test_a_whole_pod_template_document_builds_the_same_pod(identity: Identity, make_inventory: Make) -> None:
    bare = make_inventory()
    document = {"apiVersion": "v1", "kind": "PodTemplate", "template": bare.snapshot.template}
    assert build(identity, make_inventory(template=document)) == build(identity, bare)


def test_missing_main_container_is_named(identity: Identity, make_inventory: Make) -> None:
    template = {"spec": {"containers": [{"name": "other", "image": "x"}]}}
    with pytest.raises(UsageError, match="'agent'"):
        build(identity, make_inventory(template=template))


def test_claim_has_no_owner_and_asks_what_the_policy_says(identity: Identity, make_inventory: Make) -> None:
    policy = WorkspaceSpec(
        WorkspaceMode.MANAGED_PVC, size="5Gi", storage_class="fast", access_modes=("ReadWriteMany",)
    )
    claim = session_claim(identity, make_inventory(workspace=policy), "nonce-2")
    assert "ownerReferences" not in claim["metadata"]
    assert claim["metadata"]["annotations"] == {"moorage.dev/create-nonce": "nonce-2"}
    assert claim["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "volumeMode": "Filesystem",
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "5Gi"}},
    }


def test_claim_without_a_class_leaves_the_choice_to_the_cluster(
    identity: Identity, make_inventory: Make
) -> None:
    claim = session_claim(identity, make_inventory(), "n")
    assert "storageClassName" not in claim["spec"]
