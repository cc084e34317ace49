"""Containers really run: images, users, limits, streams and the test agent."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from testcluster.cluster import Cluster
from testcluster.objects import pod
from testcluster.shell import Failure, wait_for
from testcluster.testrun import RealCluster, launch

pytestmark = pytest.mark.node


def ready(cluster: RealCluster, namespace: str, name: str) -> None:
    cluster.kubectl("-n", namespace, "wait", "--for=condition=Ready", "--timeout=60s", "pod", name)


def ended(cluster: RealCluster, namespace: str, name: str) -> dict[str, Any]:
    """Termination record of the Pod's container, waited for."""

    def terminated() -> dict[str, Any]:
        statuses = cluster.get("pod", name, "-n", namespace)["status"].get("containerStatuses", [{}])
        record: dict[str, Any] = statuses[0].get("state", {}).get("terminated", {})
        return record

    return wait_for(f"{name} to end", terminated, 40)


def test_exec_carries_input_and_exit_status(cluster: RealCluster, namespace: str) -> None:
    cluster.apply(pod(namespace, "p"))
    ready(cluster, namespace, "p")
    assert cluster.kubectl("-n", namespace, "exec", "-i", "p", "--", "cat", stdin="through") == "through"
    with pytest.raises(Failure, match="exit code 7"):
        cluster.kubectl("-n", namespace, "exec", "p", "--", "/bin/testagent", "exit", "7")


def test_port_forward_reaches_loopback_of_the_pod(cluster: RealCluster, namespace: str) -> None:
    serve = "mkdir /tmp/w; echo hello > /tmp/w/index.html; httpd -f -p 127.0.0.1:8080 -h /tmp/w"
    cluster.apply(pod(namespace, "web", ["sh", "-c", serve]))
    ready(cluster, namespace, "web")
    command = [str(cluster.program), "--kubeconfig", str(cluster.kubeconfig), "-n", namespace]
    command += ["port-forward", "web", ":8080"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as forward:
        assert forward.stdout is not None
        port = int(forward.stdout.readline().split(":")[1].split()[0])
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = connection.makefile("rb").read()
        forward.kill()
    assert answer.endswith(b"hello\n")


def test_an_image_without_a_shell_runs_only_its_program(cluster: RealCluster, namespace: str) -> None:
    cluster.apply(pod(namespace, "p", ["/agent", "count", "50"], image="localhost/noshell:test"))
    ready(cluster, namespace, "p")
    wait_for(
        "output", lambda: cluster.kubectl("-n", namespace, "logs", "p").startswith("line 1\nline 2\n"), 20
    )
    with pytest.raises(Failure, match="executable file not found"):
        cluster.kubectl("-n", namespace, "exec", "p", "--", "sh", "-c", "true")


def test_the_nonroot_user_has_a_name(cluster: RealCluster, namespace: str) -> None:
    strict = {"securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "readOnlyRootFilesystem": True}}
    cluster.apply(pod(namespace, "p", container=strict))
    ready(cluster, namespace, "p")
    script = "whoami; which git || echo no git"
    words = cluster.kubectl("-n", namespace, "exec", "p", "--", "sh", "-c", script)
    assert words.splitlines() == ["user", "no git"]


def test_exec_tells_the_signal_that_ended_a_process(cluster: RealCluster, namespace: str) -> None:
    cluster.apply(pod(namespace, "p"))
    ready(cluster, namespace, "p")
    with pytest.raises(Failure, match="exit code 143"):
        cluster.kubectl("-n", namespace, "exec", "p", "--", "/bin/testagent", "signal", "15")


@pytest.mark.parametrize(
    ("command", "reason", "code"),
    [
        (["alloc", "64"], "OOMKilled", 137),
        (["exit", "7"], "Error", 7),
        (["exit", "0"], "Completed", 0),
    ],
)
def test_how_a_container_ended_is_recorded(
    cluster: RealCluster, namespace: str, command: list[str], reason: str, code: int
) -> None:
    limit = {"resources": {"limits": {"memory": "32Mi", "cpu": "500m"}}}
    agent = ["/bin/testagent", *command]
    cluster.apply(pod(namespace, "p", agent, container=limit, restartPolicy="Never"))
    record = ended(cluster, namespace, "p")
    assert (record["reason"], record["exitCode"]) == (reason, code)


def test_the_agent_records_sigterm(cluster: RealCluster, namespace: str) -> None:
    share = {"volumeMounts": [{"name": "share", "mountPath": "/share"}]}
    keeper = {
        "name": "keeper",
        "image": "localhost/busybox:test",
        "command": ["/bin/testagent", "wait"],
        **share,
    }
    asked = pod(namespace, "p", ["/bin/testagent", "term", "/share/seen"], container=share)
    asked["spec"]["containers"].append(keeper)
    asked["spec"]["volumes"] = [{"name": "share", "emptyDir": {}}]
    cluster.apply(asked)
    ready(cluster, namespace, "p")
    wait_for(
        "the handler", lambda: "ready" in cluster.kubectl("-n", namespace, "logs", "p", "-c", "main"), 20
    )
    cluster.kubectl("-n", namespace, "exec", "p", "-c", "main", "--", "kill", "1")

    def restarted() -> bool:
        statuses = cluster.get("pod", "p", "-n", namespace)["status"]["containerStatuses"]
        return any(status["name"] == "main" and status["restartCount"] == 1 for status in statuses)

    wait_for("the restart", restarted, 60)
    seen = cluster.kubectl("-n", namespace, "exec", "p", "-c", "keeper", "--", "cat", "/share/seen")
    assert seen == "SIGTERM 1\n"


def test_an_unknown_handler_of_a_runtime_class_is_an_event(cluster: RealCluster, namespace: str) -> None:
    absent = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": namespace}}
    cluster.apply({**absent, "handler": "absent"}, pod(namespace, "p", runtimeClassName=namespace))
    try:
        wait_for(
            "the event",
            lambda: any(
                'no runtime for "absent" is configured' in event["message"]
                for event in cluster.get("events", "-n", namespace)["items"]
            ),
            30,
        )
    finally:
        cluster.kubectl("delete", "runtimeclass", namespace)


def test_the_runtime_class_of_the_cluster_runs(cluster: RealCluster, namespace: str) -> None:
    cluster.apply(pod(namespace, "p", runtimeClassName="runc"))
    ready(cluster, namespace, "p")
    assert cluster.get("pod", "p", "-n", namespace)["status"]["phase"] == "Running"


def test_an_image_made_here_runs_after_import(
    cluster: RealCluster, local_cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    ref = f"localhost/{namespace}:test"
    agent = f"opt/agent={local_cluster.bin / 'agent'}"
    words = ("image", "build", tmp_path / "i.tar", "--ref", ref, "--file", agent)
    launch("image", "import", launch(*words), "--dir", local_cluster.dir)
    cluster.apply(pod(namespace, "p", ["/opt/agent", "wait"], image=ref))
    ready(cluster, namespace, "p")
    assert cluster.get("pod", "p", "-n", namespace)["spec"]["containers"][0]["image"] == ref
