"""What the cluster holds of a test's sessions, asked past Moorage: by kubectl, in the Pod, on the node."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from testcluster.cluster import Cluster
from testcluster.node import ctr
from testcluster.shell import wait_for

from .commands import PATIENCE, Moorage

TREE = (
    "cd /workspace && find . | LC_ALL=C sort | xargs -n1 stat -c '%n %a' && "
    "find . -type f | LC_ALL=C sort | xargs sha256sum"
)


class Objects:
    """The one namespace of a test."""

    def __init__(self, kubectl: Callable[..., str], namespace: str) -> None:
        self._kubectl, self.namespace = kubectl, namespace

    def kubectl(self, *args: str, check: bool = True) -> str:
        return self._kubectl("-n", self.namespace, *args, check=check)

    def create(self, thing: dict[str, Any]) -> None:
        """Create an object, in the namespace if its kind is namespaced."""
        self._kubectl("-n", self.namespace, "create", "-f", "-", stdin=json.dumps(thing))

    def names(self) -> list[str]:
        """Pods and claims there are, as kind/name."""
        return self.kubectl("get", "pods,pvc", "-o", "name").split()

    def pod(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", "pod", name, "-o", "json"))
        return found

    def claim(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", "pvc", name, "-o", "json"))
        return found

    def inside(self, pod: str, script: str, check: bool = True) -> str:
        """Run a shell script in the main container, past agentctl."""
        return self.kubectl("exec", pod, "-c", "agent", "--", "/bin/sh", "-c", script, check=check)

    def pids(self, pod: str, words: str) -> list[int]:
        """Processes in the main container whose command line holds ``words``."""
        script = (
            "for d in /proc/[0-9]*; do [ ${d#/proc/} = $$ ] || "
            'echo "${d#/proc/} $(tr "\\0\\n" "  " < $d/cmdline)"; done 2>/dev/null'
        )
        lines = [line.split(" ", 1) for line in self.inside(pod, script).splitlines()]
        return [int(pid) for pid, command in lines if words in command]

    def tree(self, pod: str) -> str:
        """Names, modes and contents of the whole workspace."""
        return self.inside(pod, TREE)


def main_container(pod: dict[str, Any]) -> dict[str, Any]:
    """The status of the main container."""
    found: dict[str, Any] = next(c for c in pod["status"]["containerStatuses"] if c["name"] == "agent")
    return found


def identity(pod: dict[str, Any]) -> tuple[str, str, str]:
    """What changes when a Pod or its main container is a new one: UID, container, its start time."""
    status = main_container(pod)
    return pod["metadata"]["uid"], status["containerID"], status["state"]["running"]["startedAt"]


def kill_container(cluster: Cluster, pod: dict[str, Any]) -> None:
    """SIGKILL the main container's first process, on the node: nothing in it can tidy."""
    node = int(pod["spec"]["nodeName"].removeprefix("node"))
    container = main_container(pod)["containerID"].partition("://")[2]
    ctr(cluster, node, "tasks", "kill", "-s", "SIGKILL", container)


def pod_name(moorage: Moorage, session: str) -> str:
    """The name of the session's Pod."""
    name: str = moorage.session(session)["pod"]["name"]
    return name


def until(what: str, probe: Callable[[], object]) -> None:
    """Wait for something in the cluster."""
    wait_for(what, probe, PATIENCE)
