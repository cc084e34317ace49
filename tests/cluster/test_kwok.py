"""Fake nodes: Pods are Running at once, and their streams are served."""

from __future__ import annotations

import socket
import subprocess

import pytest
from testcluster.objects import on_kwok, pod
from testcluster.testrun import RealCluster

pytestmark = pytest.mark.cluster


@pytest.fixture
def fake_pod(cluster: RealCluster, namespace: str) -> str:
    """Name of a Pod that "runs" on a fake amd64 node."""
    cluster.apply(pod(namespace, "p", image="localhost/none", **on_kwok("amd64")))
    cluster.kubectl("-n", namespace, "wait", "--for=condition=Ready", "--timeout=30s", "pod/p")
    return "p"


def test_a_pod_for_arm64_lands_on_the_arm64_node(cluster: RealCluster, namespace: str) -> None:
    cluster.apply(pod(namespace, "p", image="localhost/none", **on_kwok("arm64")))
    cluster.kubectl("-n", namespace, "wait", "--for=condition=Ready", "--timeout=30s", "pod/p")
    node = cluster.get("node", cluster.get("pod", "p", "-n", namespace)["spec"]["nodeName"])
    assert node["status"]["nodeInfo"]["architecture"] == "arm64"


def test_exec_runs_a_command_on_this_machine(cluster: RealCluster, namespace: str, fake_pod: str) -> None:
    answer = cluster.kubectl("-n", namespace, "exec", "-i", fake_pod, "--", "head", "-n1", stdin="through\n")
    assert answer == "through\n"


def test_exec_does_not_run_as_root(cluster: RealCluster, namespace: str, fake_pod: str) -> None:
    assert cluster.kubectl("-n", namespace, "exec", fake_pod, "--", "id", "-u").strip() != "0"


def test_logs_are_served(cluster: RealCluster, namespace: str, fake_pod: str) -> None:
    assert cluster.kubectl("-n", namespace, "logs", fake_pod) == "a fake Pod has only this log\n"


def test_every_port_echoes(cluster: RealCluster, namespace: str, fake_pod: str) -> None:
    command = [str(cluster.program), "--kubeconfig", str(cluster.kubeconfig), "-n", namespace]
    command += ["port-forward", fake_pod, ":8765"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as forward:
        assert forward.stdout is not None
        port = int(forward.stdout.readline().split(":")[1].split()[0])
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(b"ping")
            answer = connection.recv(4)
        forward.kill()
    assert answer == b"ping"
