"""Clusters in which others have been: nothing foreign is touched, and the verdict says what stands there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from testcluster.audit import AuditLog, Event, Judge
from testcluster.cluster import Cluster
from testcluster.objects import claim, pod
from testcluster.testrun import RealCluster, launch, new_dir

from .commands import Moorage
from .conftest import Template
from .relay import relay
from .verdicts import CONFLICT, OWN_FAILURE, objects, recorded, told
from .webhooks import mutating

pytestmark = pytest.mark.node
RIGHTS: list[dict[str, Any]] = [
    {"apiGroups": [""], "resources": ["pods", "persistentvolumeclaims"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["pods/exec", "pods/portforward"], "verbs": ["*"]},
]
READ_NAMESPACE = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}
OURS = "moorage/"
"""How the user agent of Moorage begins."""


def our_writes(audit: Judge, namespace: str) -> list[Event]:
    """What Moorage changed in the namespace since the audit began (or forgot)."""
    return [event for event in audit.writes(agent=OURS, namespace=namespace) if event.succeeded]


def start(moorage: Moorage, template: Template, name: str, *flags: str) -> Any:
    """A session whose agent has ended, with its Pod still there."""
    moorage(*moorage.run_args("--name", name, *flags, template=template(), command=["true"]))
    return moorage.session(name)


def test_a_foreign_pod_of_our_name_is_left_alone_and_named(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str, audit: Judge
) -> None:
    name = start(moorage, template, "mine")["pod"]["name"]
    moorage("pause", "mine")
    cluster.apply(pod(namespace, name))
    uid = cluster.get("pod", name, "-n", namespace)["metadata"]["uid"]

    audit.forget()
    done = moorage("resume", "mine", code=CONFLICT)
    told(done, "name_blocked", name, uid, f"kubectl -n {namespace} delete pod {name}")
    recorded(moorage, "mine", "name_blocked")
    assert our_writes(audit, namespace) == []

    # The claim is ours all the same: rm takes it, and only it.
    moorage("rm", "-y", "mine")
    assert objects(cluster.kubectl, namespace) == f"pod/{name}\n"
    assert cluster.get("pod", name, "-n", namespace)["metadata"]["uid"] == uid


def test_a_pod_that_copies_ours_to_the_last_label_is_still_foreign(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str, audit: Judge
) -> None:
    name = start(moorage, template, "mine")["pod"]["name"]
    copy = cluster.get("pod", name, "-n", namespace)
    moorage("pause", "mine")
    for part in ("uid", "resourceVersion", "creationTimestamp", "generation"):
        copy["metadata"].pop(part, None)
    copy["spec"].pop("nodeName")
    cluster.apply({**copy, "status": {}})
    uid = cluster.get("pod", name, "-n", namespace)["metadata"]["uid"]

    audit.forget()
    told(moorage("resume", "mine", code=CONFLICT), "name_blocked", uid)
    assert our_writes(audit, namespace) == []
    cluster.kubectl("-n", namespace, "delete", "pod", name)
    moorage("resume", "mine")  # as the hint says


def test_a_foreign_pod_in_place_of_a_running_one_is_neither_entered_nor_deleted(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str, audit: Judge
) -> None:
    name = start(moorage, template, "mine")["pod"]["name"]
    cluster.kubectl("-n", namespace, "delete", "pod", name)
    cluster.apply(pod(namespace, name))

    audit.forget()
    for verb in (("stop", "mine"), ("pause", "mine"), ("resume", "mine"), ("rm", "-y", "mine")):
        told(moorage(*verb, code=CONFLICT), "name_blocked", name)
    told(moorage("rm", "-y", "--force", "mine", code=CONFLICT), "name_blocked", name)
    assert our_writes(audit, namespace) == []


def test_a_foreign_claim_of_our_name_is_left_alone_and_named(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str, audit: Judge
) -> None:
    name = start(moorage, template, "mine")["workspace"]["claim"]
    moorage("pause", "mine")
    cluster.kubectl("-n", namespace, "delete", "pvc", name)
    cluster.apply(claim(namespace, name, "immediate"))

    audit.forget()
    told(moorage("resume", "mine", code=CONFLICT), "name_blocked", name)
    told(moorage("rm", "-y", "mine", code=CONFLICT), "name_blocked", name)
    assert our_writes(audit, namespace) == []
    assert objects(cluster.kubectl, namespace) == f"persistentvolumeclaim/{name}\n"


def test_a_claim_we_were_given_is_used_and_never_deleted(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str, audit: Judge
) -> None:
    cluster.apply(claim(namespace, "theirs", "standard"))
    start(moorage, template, "mine", "--claim", "theirs")
    moorage("rm", "-y", "mine")
    assert objects(cluster.kubectl, namespace) == "persistentvolumeclaim/theirs\n"
    assert [
        str(event) for event in our_writes(audit, namespace) if event.resource == "persistentvolumeclaims"
    ] == []


def test_a_namespace_that_was_made_anew_is_not_the_one_on_record(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str, audit: Judge
) -> None:
    start(moorage, template, "old")
    cluster.kubectl("delete", "namespace", namespace)
    cluster.kubectl("create", "namespace", namespace)

    audit.forget()
    for verb in ("stop", "resume"):
        assert "that session old was made in is gone" in moorage(verb, "old", code=CONFLICT).err
    assert moorage.session("old")["status"] == "Unknown"
    moorage("rm", "-y", "old")
    assert moorage("ls", "-q").out == b""
    assert our_writes(audit, namespace) == []


@pytest.fixture
def other_cluster(namespace: str) -> Iterator[Cluster]:
    """A second API server with an etcd of its own, and in it a namespace of the same name."""
    folder = new_dir()
    launch("up", "--dir", folder, "--control-plane-only")
    try:
        other = Cluster(folder)
        other.kubectl("create", "namespace", namespace)
        yield other
    finally:
        launch("down", "--dir", folder)


def test_a_context_that_was_pointed_at_another_cluster_is_refused(
    cluster: RealCluster,
    other_cluster: Cluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    audit: Judge,
    tmp_path: Path,
) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(cluster.kubeconfig.read_text())
    config.chmod(0o600)
    moorage.kubeconfig = config
    start(moorage, template, "here")
    config.write_text((other_cluster.dir / "admin.kubeconfig").read_text())

    audit.forget()
    for verb in (("stop", "here"), ("resume", "here"), ("rm", "-y", "here")):
        assert "another cluster or namespace" in moorage(*verb, code=CONFLICT).err
    assert moorage.session("here")["status"] == "Unknown"
    assert our_writes(audit, namespace) == []
    assert [str(e) for e in AuditLog(other_cluster).events(agent=OURS, writes=True)] == []

    config.write_text(cluster.kubeconfig.read_text())
    moorage("rm", "-y", "here")
    assert objects(cluster.kubectl, namespace) == ""


@pytest.fixture
def other_door(cluster: RealCluster) -> Iterator[str]:
    """Another address of the same API server."""
    config = json.loads(cluster.kubectl("config", "view", "--minify", "-o", "json"))
    server = urlsplit(config["clusters"][0]["cluster"]["server"])
    with relay((server.hostname or "", server.port or 443)) as port:
        yield f"https://{server.hostname}:{port}"


def through(door: str, kubeconfig: Path) -> None:
    """Point a kubeconfig at another address."""
    config = json.loads(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = door
    kubeconfig.write_text(json.dumps(config))


def test_the_same_namespace_behind_another_address_is_the_same(
    cluster: RealCluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    other_door: str,
    limited_user: Callable[[list[dict[str, Any]]], Path],
) -> None:
    moorage.kubeconfig = limited_user([*RIGHTS, READ_NAMESPACE])
    start(moorage, template, "here")
    through(other_door, moorage.kubeconfig)
    moorage("rm", "-y", "here")
    assert objects(cluster.kubectl, namespace) == ""


def test_where_the_namespace_may_not_be_read_another_address_is_another_cluster(
    moorage: Moorage,
    template: Template,
    namespace: str,
    audit: Judge,
    other_door: str,
    limited_user: Callable[[list[dict[str, Any]]], Path],
) -> None:
    moorage.kubeconfig = limited_user(RIGHTS)
    before = moorage.kubeconfig.read_text()
    start(moorage, template, "here")
    through(other_door, moorage.kubeconfig)

    audit.forget()
    for verb in (("resume", "here"), ("rm", "-y", "here")):
        assert "another cluster or namespace" in moorage(*verb, code=CONFLICT).err
    assert our_writes(audit, namespace) == []

    moorage.kubeconfig.write_text(before)
    moorage("rm", "-y", "here")


def test_a_webhook_that_changes_what_is_ours_is_found_out_and_its_pod_removed(
    cluster: RealCluster,
    local_cluster: Cluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    audit: Judge,
) -> None:
    def keep_out(pod: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"op": "replace", "path": "/spec/containers/0/command", "value": ["/bin/testagent", "wait"]}]

    with mutating(cluster, local_cluster, namespace, keep_out) as webhook:
        args = moorage.run_args("--name", "changed", template=template(), command=["true"])
        done = moorage(*args, code=OWN_FAILURE)
    told(done, "admission", "containers[agent].command", webhook)
    recorded(moorage, "changed", "admission")

    pods = [event for event in our_writes(audit, namespace) if event.resource == "pods"]
    assert [event.verb for event in pods] == ["create", "delete"]
    created, deleted = pods
    assert deleted.preconditions["uid"] == created.uid
    assert "pod/" not in objects(cluster.kubectl, namespace)

    moorage("resume", "changed")  # the webhook is gone
    moorage("rm", "-y", "changed")
    assert objects(cluster.kubectl, namespace) == ""


def test_a_sidecar_that_a_webhook_puts_first_does_not_become_the_agent(
    cluster: RealCluster, local_cluster: Cluster, moorage: Moorage, template: Template, namespace: str
) -> None:
    sidecar = {
        "name": "mesh",
        "image": "localhost/busybox:test",
        "imagePullPolicy": "Never",
        "command": ["/bin/testagent", "wait"],
    }

    def add_first(pod: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"op": "add", "path": "/spec/containers/0", "value": sidecar}]

    with mutating(cluster, local_cluster, namespace, add_first):
        look = ["sh", "-c", "echo in $(ls -d /workspace); test -d /opt/moorage"]
        done = moorage(*moorage.run_args("--name", "meshed", template=template(), command=look))
    assert done.out == b"in /workspace\n"
    spec = cluster.get("pods", "-n", namespace)["items"][0]["spec"]
    assert [c["name"] for c in spec["containers"]] == ["mesh", "agent"]
    assert moorage("exec", "meshed", "--", "cat", "/proc/1/cmdline").out.startswith(
        b"/opt/moorage/agentctl\0"
    )
    moorage("rm", "-y", "meshed")
    assert objects(cluster.kubectl, namespace) == ""
