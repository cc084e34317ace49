"""Every way to keep a workspace, with every way to bring the helper in, on every platform."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testcluster.audit import Judge
from testcluster.cluster import Cluster
from testcluster.kwok import ARM_NODE
from testcluster.objects import TOLERATE_KWOK, claim
from testcluster.shell import wait_for
from testcluster.testrun import RealCluster

import moorage as package

from .commands import Moorage
from .conftest import Template
from .images import helper_image_ref
from .verdicts import OWN_FAILURE, objects, recorded, told

pytestmark = pytest.mark.node

SMALL = ("--workspace-size", "16Mi")
WORKSPACES = {
    "late-claim": (*SMALL, "--storage-class", "standard"),
    "early-claim": (*SMALL, "--storage-class", "immediate"),
    "given-claim": ("--claim", "given"),
    "empty-dir": ("--workspace", "empty_dir"),
}
HELPERS = ("exec", "image")
TALK = ["sh", "-c", "echo kept > /workspace/f && cat /workspace/f"]


@pytest.fixture
def helper_flags(local_cluster: Cluster, tmp_path: Path) -> Callable[[str], list[str]]:
    """`helper_flags("exec" | "image")` → flags of `moorage run`."""
    return lambda source: (
        ["--helper-image", helper_image_ref(local_cluster, tmp_path)] if source == "image" else []
    )


def give_claim(cluster: RealCluster, namespace: str, workspace: str) -> str:
    """The claim that mode existing_claim finds; returns what is there once a session is removed."""
    if workspace != "given-claim":
        return ""
    cluster.apply(claim(namespace, "given", "standard"))
    return "persistentvolumeclaim/given\n"


@pytest.mark.parametrize("helper", HELPERS)
@pytest.mark.parametrize("workspace", WORKSPACES)
def test_each_workspace_works_with_each_helper_and_leaves_nothing_of_ours(
    cluster: RealCluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    helper_flags: Callable[[str], list[str]],
    workspace: str,
    helper: str,
) -> None:
    left = give_claim(cluster, namespace, workspace)
    flags = [*WORKSPACES[workspace], *helper_flags(helper)]
    done = moorage(*moorage.run_args("--name", "one", *flags, template=template(), command=TALK))
    assert done.out == b"kept\n"
    shown = moorage.session("one")["workspace"]
    assert shown["created_by_us"] is (workspace.endswith("claim") and not left)

    moorage("rm", "-y", "one")
    assert objects(cluster.kubectl, namespace) == left


ON_ARM = {
    "late-claim-exec": ("late-claim", "exec"),
    "given-claim-image": ("given-claim", "image"),
    "empty-dir-exec": ("empty-dir", "exec"),
}


@pytest.mark.parametrize(("workspace", "helper"), ON_ARM.values(), ids=ON_ARM)
def test_an_arm64_session_lands_on_an_arm64_node_and_stays_what_was_asked_for(
    cluster: RealCluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    helper_flags: Callable[[str], list[str]],
    workspace: str,
    helper: str,
) -> None:
    """The node is a fake one: the Pod is placed and Running, and no helper can answer in it."""
    left = give_claim(cluster, namespace, workspace)
    flags = ["--platform", "linux/arm64", *WORKSPACES[workspace], *helper_flags(helper)]
    written = template(spec={"tolerations": TOLERATE_KWOK})
    following = moorage.start(*moorage.run_args("--name", "arm", *flags, template=written, command=["true"]))
    following.until_true("placed on a node", lambda: node_of(cluster, namespace) != "")
    following.kill()
    pod = cluster.get("pods", "-n", namespace)["items"][0]
    assert pod["spec"]["nodeName"] == ARM_NODE
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"}
    assert [c["name"] for c in pod["spec"].get("initContainers", [])] == (
        ["moorage-helper"] if helper == "image" else []
    )

    moorage("rm", "-y", "arm")
    assert objects(cluster.kubectl, namespace) == left


def node_of(cluster: RealCluster, namespace: str) -> str:
    """The node that the namespace's only Pod was placed on, "" while there is none."""
    pods = cluster.get("pods", "-n", namespace)["items"]
    return str(pods[0]["spec"].get("nodeName", "")) if pods else ""


@pytest.fixture
def wrong_package(tmp_path: Path) -> Path:
    """A copy of the package whose helper for amd64 is built for arm64."""
    here = Path(package.__file__).parent
    copy = tmp_path / "lib" / "moorage"
    shutil.copytree(here, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(copy / "_helper/arm64/agentctl", copy / "_helper/amd64/agentctl")
    return copy.parent


def test_a_helper_of_another_architecture_is_refused_before_it_is_sent(
    moorage: Moorage, template: Template, namespace: str, audit: Judge, wrong_package: Path
) -> None:
    args = moorage.run_args(
        "--name", "elf", "--workspace", "empty_dir", template=template(), command=["true"]
    )
    done = moorage.start(*args, env={"PYTHONPATH": str(wrong_package)}).end()
    assert done.code == OWN_FAILURE
    told(done, "platform", "the helper is built for arm64", "linux/amd64")
    recorded(moorage, "elf", "platform")
    assert executions(audit, namespace) == []
    assert [
        str(e)
        for e in audit.writes(namespace=namespace, resource="pods", agent="moorage")
        if e.verb == "create"
    ]


@pytest.fixture
def lying_node(cluster: RealCluster, namespace: str) -> Iterator[str]:
    """A fake node whose label says arm64 and whose kubelet says amd64."""
    name = f"lying-{namespace[-6:]}"
    room = {"cpu": "4", "memory": "4Gi", "pods": "10"}
    labels = {"type": "kwok", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "lying": name}
    taints = [{"key": "kwok", "value": "fake", "effect": "NoSchedule"}]
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    cluster.apply({**node, "spec": {"taints": taints}, "status": {"allocatable": room, "capacity": room}})

    def ready() -> bool:
        status = cluster.get("node", name)["status"]
        return bool(status.get("nodeInfo", {}).get("architecture"))

    wait_for("the fake node", ready, 30)
    cluster.kubectl("label", "node", name, "kubernetes.io/arch=arm64", "--overwrite")
    yield name
    cluster.kubectl("delete", "node", name, "--wait=false")


def test_a_node_of_another_architecture_is_refused_before_anything_is_sent_to_it(
    cluster: RealCluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    audit: Judge,
    lying_node: str,
) -> None:
    written = template(spec={"tolerations": TOLERATE_KWOK, "nodeSelector": {"lying": lying_node}})
    flags = ("--name", "lie", "--platform", "linux/arm64", "--workspace", "empty_dir")
    done = moorage(*moorage.run_args(*flags, template=written, command=["true"]), code=OWN_FAILURE)
    told(done, "platform", f"node {lying_node} is amd64", "linux/arm64", "kubernetes.io/arch")
    recorded(moorage, "lie", "platform")
    assert executions(audit, namespace) == []
    moorage("rm", "-y", "lie")
    assert objects(cluster.kubectl, namespace) == ""


def executions(audit: Judge, namespace: str) -> list[str]:
    """Commands that were run in Pods, and ports of Pods that were reached."""
    events = audit.events(namespace=namespace, resource="pods")
    return [str(event) for event in events if event.subresource in ("exec", "portforward")]
