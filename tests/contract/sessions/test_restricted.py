"""Sessions where a careful administrator leaves an agent little, and where a node leaves it too little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from testcluster.cluster import Cluster
from testcluster.node import ctr
from testcluster.shell import Failure, run, wait_for
from testcluster.testrun import RealCluster

from .commands import Moorage
from .conftest import Template
from .images import helper_image_ref
from .verdicts import objects, recorded, told

pytestmark = pytest.mark.node

CAREFUL: dict[str, Any] = {
    "securityContext": {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
}
LOOK = "id -u; touch /x 2>/dev/null || echo read-only; echo mine > /workspace/f && cat /workspace/f"


@pytest.mark.parametrize("helper", ["exec", "image"])
def test_an_agent_without_root_writes_its_workspace_and_nothing_else(
    cluster: RealCluster,
    local_cluster: Cluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    tmp_path: Path,
    helper: str,
) -> None:
    """The volume belongs to root with mode 0755; the group of the agent's user is what opens it."""
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    flags = ["--helper-image", helper_image_ref(local_cluster, tmp_path)] if helper == "image" else []
    args = moorage.run_args(
        "--name", "careful", *flags, template=template(main=CAREFUL), command=["sh", "-c", LOOK]
    )
    assert moorage(*args).out == b"1000\nread-only\nmine\n"

    moorage("pause", "careful")
    moorage("resume", "careful")
    moorage("attach", "careful", "--from-start")
    assert moorage("logs", "careful").out == b"1000\nread-only\nmine\n" * 2
    moorage("rm", "-y", "careful")
    assert objects(cluster.kubectl, namespace) == ""


HOLD: dict[str, Any] = {
    "initContainers": [
        {
            "name": "hold",
            "image": "localhost/busybox:test",
            "command": ["sh", "-c", "mkfifo /gate/open; read -r _ < /gate/open"],
            "volumeMounts": [{"name": "gate", "mountPath": "/gate"}],
        }
    ],
    "volumes": [{"name": "gate", "emptyDir": {}}],
}
"""Keeps a Pod between the making of its volumes and the start of its main container."""


@pytest.mark.parametrize("helper", ["exec", "image"])
def test_a_volume_that_may_hold_no_programs_is_diagnosed(
    cluster: RealCluster,
    local_cluster: Cluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    tmp_path: Path,
    helper: str,
) -> None:
    """The runtime takes a node's noexec away again where it can, so the mount is changed in the container,
    between its start and the first command of ours in it: a client held, killed, and another to go on."""
    flags = ["--helper-image", helper_image_ref(local_cluster, tmp_path)] if helper == "image" else []
    args = ("--name", "noexec", "--workspace", "empty_dir", *flags)
    first = moorage.start(*moorage.run_args(*args, template=template(spec=HOLD), command=["true"]))
    first.until_true("the Pod is held", lambda: in_hold(cluster, namespace, "[ -p /gate/open ]"))
    first.kill()
    in_hold(cluster, namespace, "echo > /gate/open")  # may be killed with the container that it lets end
    mount_noexec(
        local_cluster, wait_for("the main container", lambda: main_container(cluster, namespace), 60)
    )

    done = moorage("resume", "noexec", code=1)
    told(done, "noexec", "/opt/moorage", "emptyDir")
    recorded(moorage, "noexec", "noexec")
    moorage("rm", "-y", "noexec")
    assert objects(cluster.kubectl, namespace) == ""


def in_hold(cluster: RealCluster, namespace: str, script: str) -> bool:
    """Run a line of sh in the holding container; False while it cannot be, or fails."""
    pods = cluster.kubectl("-n", namespace, "get", "pods", "-o", "name").split()
    try:
        cluster.kubectl("-n", namespace, "exec", *pods, "-c", "hold", "--", "sh", "-c", script)
    except Failure:
        return False
    return True


def main_container(cluster: RealCluster, namespace: str) -> str:
    """The id of the main container once it runs, else ""."""
    status = cluster.get("pods", "-n", namespace)["items"][0]["status"]
    for container in status.get("containerStatuses", []):
        if "running" in container["state"]:
            return str(container["containerID"]).rpartition("/")[2]
    return ""


def mount_noexec(local: Cluster, container: str) -> None:
    """Make /opt/moorage noexec in the mount namespace of a running container."""
    tasks = [line.split() for line in ctr(local, 1, "tasks", "ls").splitlines()]
    pid = next(words[1] for words in tasks if words[0] == container)
    run("nsenter", "-t", pid, "-m", "-p", "/bin/mount", "-o", "remount,bind,noexec", "/opt/moorage")
