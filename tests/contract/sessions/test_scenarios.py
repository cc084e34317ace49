"""Scenarios of docs/guarantees.md that no other story of this folder tells as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from testcluster.audit import Judge
from testcluster.testrun import RealCluster

from .commands import Moorage
from .conftest import Template
from .observed import Objects

pytestmark = pytest.mark.node
OURS = "moorage/"
IMAGE = {"image": "localhost/busybox:test", "imagePullPolicy": "Never"}
LIMITS = {"limits": {"cpu": "500m", "memory": "64Mi"}, "requests": {"cpu": "10m", "memory": "32Mi"}}
SIDECAR = {"name": "side", **IMAGE, "command": ["sh", "-c", "trap exit TERM; while :; do sleep 1; done"]}
PREFERRED = {"key": "kubernetes.io/hostname", "operator": "Exists"}
AFFINITY = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [PREFERRED]}}
        ]
    }
}


def test_what_the_operator_wrote_remains_in_the_pod_and_what_moorage_owns_is_as_documented(
    cluster: RealCluster, moorage: Moorage, template: Template, objects: Objects
) -> None:
    """A sidecar, an affinity, limits and a ServiceAccount of the workload's own."""
    cluster.kubectl("-n", objects.namespace, "create", "serviceaccount", "workload")
    spec = {"containers": [SIDECAR], "affinity": AFFINITY, "serviceAccountName": "workload"}
    pod_template = template(main={"resources": LIMITS}, spec=spec)
    moorage(*moorage.run_args("--name", "whole", template=pod_template, command=["true"]))
    session = moorage.session("whole")
    pod = objects.pod(session["pod"]["name"])
    containers = {container["name"]: container for container in pod["spec"]["containers"]}
    main, side = containers["agent"], containers["side"]

    assert pod["spec"]["affinity"] == AFFINITY
    assert pod["spec"]["serviceAccountName"] == "workload"
    assert main["resources"] == LIMITS
    assert (side["image"], side["command"]) == (SIDECAR["image"], SIDECAR["command"])

    assert main["command"] != ["true"]
    assert pod["spec"]["restartPolicy"] == "Always"
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    assert pod["metadata"]["labels"]["moorage.dev/session-id"] == session["id"]
    assert len(pod["metadata"]["annotations"]["moorage.dev/create-nonce"]) == 64
    assert "/workspace" in mounts(main)
    assert mounts(side) == []
    moorage("rm", "-y", "whole")
    assert objects.names() == []


def mounts(container: dict[str, Any]) -> list[str]:
    return [mount["mountPath"] for mount in container.get("volumeMounts", [])]


@dataclass(frozen=True)
class Taken:
    """A template that takes what is Moorage's, and the path of the field that does."""

    path: str
    main: dict[str, Any] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)


DATA = {"volumes": [{"name": "data", "emptyDir": {}}]}
TAKEN = {
    "command": Taken("template.spec.containers[0].command", main={"command": ["sh"]}),
    "mount": Taken(
        "template.spec.containers[0].volumeMounts[0].mountPath",
        main={"volumeMounts": [{"name": "data", "mountPath": "/run/moorage/x"}]},
        spec=DATA,
    ),
    "env key": Taken(
        "template.spec.containers[0].env[0].name", main={"env": [{"name": "AGENTCTL_X", "value": "1"}]}
    ),
    "identity label": Taken(
        "template.metadata.labels", metadata={"labels": {"moorage.dev/session-id": "another"}}
    ),
    "namespace": Taken("template.metadata.namespace", metadata={"namespace": "elsewhere"}),
    "architecture": Taken(
        "template.spec.nodeSelector", spec={"nodeSelector": {"kubernetes.io/arch": "arm64"}}
    ),
}


@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN.keys())
def test_a_template_that_takes_a_reserved_field_is_refused_by_its_path_before_anything_is_made(
    moorage: Moorage, template: Template, objects: Objects, audit: Judge, taken: Taken
) -> None:
    path: Path = template(main=taken.main, spec=taken.spec)
    document = yaml.safe_load(path.read_text())
    document["template"]["metadata"] = taken.metadata
    path.write_text(yaml.safe_dump(document))

    audit.forget()
    refused = moorage(*moorage.run_args("--name", "bold", template=path, command=["true"]), code=125)
    assert taken.path in refused.err
    answer = moorage("doctor", *moorage.place(), "-o", "json", "--template", path, code=1).json()
    (step,) = [step for step in answer["steps"] if step["status"] == "failed"]
    assert (step["key"], taken.path in step["detail"]) == ("template", True)
    assert audit.writes(agent=OURS, namespace=objects.namespace) == []
    assert objects.names() == []


def test_archive_removes_the_recorded_pod_and_claim_by_their_uids_and_nothing_else(
    moorage: Moorage,
    template: Template,
    objects: Objects,
    audit: Judge,
    cluster: RealCluster,
    kubectl: Callable[..., str],
) -> None:
    beside = {"metadata": {"name": "beside", "namespace": objects.namespace, "labels": {"a": "b"}}}
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    cluster.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", **beside, "spec": size})
    moorage(*moorage.run_args("--name", "over", template=template(), command=["echo", "kept words"]))
    session = moorage.session("over")

    audit.forget()
    moorage("archive", "-y", "over")
    deleted = {
        (event.resource, event.uid)
        for event in audit.writes(agent=OURS, namespace=objects.namespace)
        if event.verb == "delete"
    }
    claim = ("persistentvolumeclaims", session["workspace"]["claim_uid"])
    assert deleted == {("pods", session["pod"]["uid"]), claim}
    assert objects.names() == ["persistentvolumeclaim/beside"]
    assert moorage("logs", "over").out == b"kept words\n"
