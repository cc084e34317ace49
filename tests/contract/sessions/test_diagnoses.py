"""A session that cannot start says why in one category, says what to do, and gives back what it took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from testcluster.shell import wait_for
from testcluster.testrun import RealCluster

from .commands import Moorage
from .conftest import Template
from .verdicts import OWN_FAILURE, failed_start, objects, recorded, told

pytestmark = pytest.mark.node

ENFORCE = "pod-security.kubernetes.io/enforce"


@dataclass(frozen=True)
class Case:
    """A template (or flags) that cannot work here, and the words that tell."""

    category: str
    words: tuple[str, ...]
    main: dict[str, Any] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ("--workspace", "empty_dir")


STARTS = {
    "image the node lacks": Case(
        "image",
        ("localhost/absent:test", "imagePullPolicy is Never"),
        main={"image": "localhost/absent:test"},
    ),
    "image that cannot be pulled": Case(
        "image",
        ("localhost/absent:test",),
        main={"image": "localhost/absent:test", "imagePullPolicy": "Always"},
    ),
    "more processors than any node has": Case(
        "unschedulable",
        ("Insufficient cpu", "resources.requests"),
        main={"resources": {"requests": {"cpu": "4k"}}},
    ),
    "a label that no node has": Case(
        "unschedulable",
        ("node affinity/selector",),
        spec={"nodeSelector": {"disk": "made-of-cheese"}},
    ),
    "a ConfigMap that is not there": Case(
        "config",
        ("absent-config",),
        main={"envFrom": [{"configMapRef": {"name": "absent-config"}}]},
    ),
    "an image without a shell": Case(
        "crash", ("use --helper image",), main={"image": "localhost/noshell:test"}
    ),
}


@pytest.mark.parametrize("case", STARTS.values(), ids=[key.replace(" ", "-") for key in STARTS])
def test_a_start_that_cannot_work_is_diagnosed_and_releases_its_pod(
    moorage: Moorage, template: Template, kubectl: Callable[..., str], namespace: str, case: Case
) -> None:
    written = template(main=case.main, spec=case.spec)
    done = failed_start(moorage, "poor", moorage.run_args(*case.flags, template=written, command=["true"]))
    told(done, case.category, *case.words)
    recorded(moorage, "poor", case.category)
    assert "pod/" not in objects(kubectl, namespace)

    moorage("rm", "-y", "poor")
    assert objects(kubectl, namespace) == ""


@pytest.mark.parametrize("flag", ["--claim", "--storage-class"])
def test_a_slip_in_the_name_of_storage_leaves_nothing_behind(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str, flag: str
) -> None:
    args = moorage.run_args("--name", "slip", flag, "no-such-thing", template=template(), command=["true"])
    told(moorage(*args, code=OWN_FAILURE), "claim", "no-such-thing does not exist", flag)
    assert moorage("ls", "-a", "-o", "json").json()["items"] == []
    assert objects(cluster.kubectl, namespace) == ""


REFUSED = {
    "quota of Pods": (
        "quota",
        {"hard": {"pods": "0"}},
        ("exceeded quota", "raise the quota"),
    ),
    "quota that wants limits": (
        "quota",
        {"hard": {"limits.memory": "1Gi"}},
        ("must specify limits.memory", "set limits.memory"),
    ),
    "quota of storage": (
        "quota",
        {"hard": {"requests.storage": "1Mi"}},
        ("exceeded quota", "raise the quota"),
    ),
}


@pytest.mark.parametrize(
    ("category", "spec", "words"), REFUSED.values(), ids=[key.replace(" ", "-") for key in REFUSED]
)
def test_what_a_quota_forbids_is_refused_before_anything_is_recorded(
    cluster: RealCluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    category: str,
    spec: dict[str, Any],
    words: tuple[str, ...],
) -> None:
    meta = {"name": "small", "namespace": namespace}
    cluster.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": spec})
    _until_enforced(cluster, namespace)
    done = moorage(*moorage.run_args(template=template(), command=["true"]), code=OWN_FAILURE)
    told(done, category, *words)
    assert moorage("ls", "-o", "json").json()["items"] == []
    assert objects(cluster.kubectl, namespace) == ""


def test_what_pod_security_forbids_is_refused_with_the_fields_to_change(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str
) -> None:
    cluster.kubectl("label", "namespace", namespace, f"{ENFORCE}=restricted")
    done = moorage(*moorage.run_args(template=template(), command=["true"]), code=OWN_FAILURE)
    told(done, "pod_security", "runAsNonRoot", "allowPrivilegeEscalation")
    assert moorage("ls", "-o", "json").json()["items"] == []
    assert objects(cluster.kubectl, namespace) == ""


def test_a_failed_start_that_is_mended_goes_on_with_resume(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str
) -> None:
    written = template(main={"envFrom": [{"configMapRef": {"name": "later-config"}}]})
    args = moorage.run_args("--workspace", "empty_dir", template=written, command=["sh", "-c", "echo $SAID"])
    told(failed_start(moorage, "later", args), "config", "later-config")
    meta = {"name": "later-config", "namespace": namespace}
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"SAID": "here"}})
    moorage("resume", "later")
    moorage("attach", "later", "--from-start")
    assert moorage("logs", "later").out == b"here\n"

    moorage("rm", "-y", "later")
    assert objects(cluster.kubectl, namespace) == ""


COUNT = ["sh", "-c", "echo x >> /workspace/f; wc -l < /workspace/f"]


def held(moorage: Moorage, template: Template) -> str:
    """A paused session that has run once; the name of its claim."""
    flags = ("--name", "held", "--workspace-size", "16Mi")
    assert moorage(*moorage.run_args(*flags, template=template(), command=COUNT)).out == b"1\n"
    moorage("pause", "held")
    claim: str = moorage.session("held")["workspace"]["claim"]
    return claim


def test_a_resume_that_is_forbidden_keeps_the_workspace_until_it_is_allowed(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str
) -> None:
    claim = held(moorage, template)
    cluster.kubectl("label", "namespace", namespace, f"{ENFORCE}=restricted")
    told(moorage("resume", "held", code=1), "pod_security", "violates PodSecurity")
    recorded(moorage, "held", "pod_security")
    assert objects(cluster.kubectl, namespace) == f"persistentvolumeclaim/{claim}\n"

    cluster.kubectl("label", "namespace", namespace, f"{ENFORCE}-")
    moorage("resume", "held")
    moorage("attach", "held")
    assert moorage("logs", "held").out == b"1\n2\n"


def test_a_resume_waits_for_room_in_the_quota_and_says_so(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str
) -> None:
    held(moorage, template)
    meta = {"name": "small", "namespace": namespace}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"pods": "0"}}}
    cluster.apply(quota)
    _until_enforced(cluster, namespace)
    resuming = moorage.start("resume", "held")
    resuming.until_true("told of the quota", lambda: "exceeded quota" in resuming.err)

    cluster.kubectl("-n", namespace, "delete", "quota", "small")
    assert resuming.end().code == 0
    moorage("attach", "held")
    assert moorage("logs", "held").out == b"1\n2\n"


def test_a_namespace_that_is_not_there_is_named_with_the_command_that_makes_it(
    moorage: Moorage, template: Template, kubeconfig: Path
) -> None:
    place: list[str | Path] = ["--kubeconfig", kubeconfig, "-n", "absent-namespace"]
    done = moorage("run", *place, "--template", template(), "--", "true", code=OWN_FAILURE)
    assert "kubectl create namespace absent-namespace" in done.err
    assert moorage("ls", "-o", "json").json()["items"] == []


def _until_enforced(cluster: RealCluster, namespace: str) -> None:
    wait_for("the quota", lambda: cluster.get("quota", "small", "-n", namespace)["status"].get("hard"), 20)
