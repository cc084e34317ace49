"""The StorageClasses of the test cluster behave as those of a usual driver."""

from __future__ import annotations

import pytest
from testcluster.cluster import Cluster
from testcluster.objects import claim, pod
from testcluster.shell import wait_for
from testcluster.testrun import RealCluster

pytestmark = pytest.mark.node


def phase(cluster: RealCluster, namespace: str, name: str) -> str:
    return str(cluster.get("pvc", name, "-n", namespace)["status"]["phase"])


def ready(cluster: RealCluster, namespace: str, *names: str) -> None:
    cluster.kubectl("-n", namespace, "wait", "--for=condition=Ready", "--timeout=60s", "pod", *names)


def inside(cluster: RealCluster, namespace: str, name: str, script: str) -> str:
    return cluster.kubectl("-n", namespace, "exec", name, "--", "sh", "-c", script).strip()


def test_an_immediate_claim_is_bound_without_a_pod(cluster: RealCluster, namespace: str) -> None:
    cluster.apply(claim(namespace, "early", "immediate"))
    wait_for("the claim", lambda: phase(cluster, namespace, "early") == "Bound", 20)


def test_a_late_claim_waits_for_its_pod_and_its_data_go_with_it(
    cluster: RealCluster, local_cluster: Cluster, namespace: str
) -> None:
    # The immediate claim is made last and served by the same loop: once bound, the late one was passed over.
    cluster.apply(claim(namespace, "late", "standard"))
    cluster.apply(claim(namespace, "witness", "immediate"))
    wait_for("the witness", lambda: phase(cluster, namespace, "witness") == "Bound", 20)
    assert phase(cluster, namespace, "late") == "Pending"

    cluster.apply(pod(namespace, "p", claim="late"))
    ready(cluster, namespace, "p")
    inside(cluster, namespace, "p", "echo hi > /workspace/f")
    volume = local_cluster.dir / "volumes" / cluster.get("pvc", "late", "-n", namespace)["spec"]["volumeName"]
    assert (volume / "f").read_text() == "hi\n"

    cluster.kubectl("-n", namespace, "delete", "pod/p", "pvc/late")
    wait_for("the data to go", lambda: not volume.exists(), 30)


def test_a_new_volume_belongs_to_root_unless_the_pod_names_a_group(
    cluster: RealCluster, namespace: str
) -> None:
    user = {"runAsUser": 1000, "runAsGroup": 1000}
    cluster.apply(
        claim(namespace, "plain", "standard"),
        pod(namespace, "plain", claim="plain", securityContext=user),
        claim(namespace, "group", "standard"),
        pod(namespace, "group", claim="group", securityContext={**user, "fsGroup": 2000}),
    )
    ready(cluster, namespace, "plain", "group")
    look = "stat -c '%u:%g %a' /workspace; touch /workspace/f && echo writable || echo refused"
    assert inside(cluster, namespace, "plain", look).split("\n") == ["0:0 755", "refused"]
    assert inside(cluster, namespace, "group", look).split("\n") == ["0:2000 2775", "writable"]


def test_a_block_claim_is_a_device_that_keeps_what_is_written(cluster: RealCluster, namespace: str) -> None:
    cluster.apply(
        claim(namespace, "disk", "standard", volumeMode="Block"), pod(namespace, "one", device="disk")
    )
    ready(cluster, namespace, "one")
    assert inside(cluster, namespace, "one", "[ -b /dev/xvda ] && blockdev --getsize64 /dev/xvda") == str(
        16 << 20
    )
    inside(cluster, namespace, "one", "echo mark | dd of=/dev/xvda bs=512 seek=8 conv=fsync")
    cluster.kubectl("-n", namespace, "delete", "pod/one")

    cluster.apply(pod(namespace, "two", device="disk"))
    ready(cluster, namespace, "two")
    assert inside(cluster, namespace, "two", "dd if=/dev/xvda bs=512 skip=8 count=1 | head -n1") == "mark"
    cluster.kubectl("-n", namespace, "delete", "pod/two", "pvc/disk")


def test_a_clone_holds_the_data_and_is_independent(cluster: RealCluster, namespace: str) -> None:
    cluster.apply(claim(namespace, "source", "clone"), pod(namespace, "source", claim="source"))
    ready(cluster, namespace, "source")
    inside(cluster, namespace, "source", "echo one > /workspace/f")

    origin = {"kind": "PersistentVolumeClaim", "name": "source"}
    cluster.apply(claim(namespace, "copy", "clone", dataSource=origin), pod(namespace, "copy", claim="copy"))
    ready(cluster, namespace, "copy")
    inside(cluster, namespace, "source", "echo two > /workspace/f")
    assert inside(cluster, namespace, "copy", "cat /workspace/f") == "one"


@pytest.mark.parametrize(
    ("storage_class", "size", "why"),
    [("clone", "1Mi", "smaller than its source"), ("immediate", "16Mi", "cannot provision from")],
)
def test_a_clone_that_cannot_be_made_stays_pending_and_says_why(
    cluster: RealCluster, namespace: str, storage_class: str, size: str, why: str
) -> None:
    cluster.apply(claim(namespace, "source", "clone"))
    wait_for("the source", lambda: phase(cluster, namespace, "source") == "Bound", 20)
    origin = {"kind": "PersistentVolumeClaim", "name": "source"}
    cluster.apply(claim(namespace, "copy", storage_class, size, dataSource=origin))

    def told() -> bool:
        return any(why in event["message"] for event in cluster.get("events", "-n", namespace)["items"])

    wait_for("the event", told, 20)
    assert phase(cluster, namespace, "copy") == "Pending"
