"""`moorage doctor` where the cluster itself is at fault: the step that tells, what to do, and nothing left.

Every step that can fail has its story in tests/sessions/test_connection_steps.py; here stand those that a
real cluster can produce.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from testcluster.audit import Judge
from testcluster.cluster import Cluster
from testcluster.shell import wait_for
from testcluster.testrun import RealCluster

from .commands import Moorage
from .conftest import Template
from .deaf_proxy import deaf_proxy
from .verdicts import objects
from .webhooks import mutating

pytestmark = pytest.mark.node

Users = Callable[[list[dict[str, Any]]], Path]
ALL: list[dict[str, Any]] = [
    {"apiGroups": [""], "resources": ["pods", "persistentvolumeclaims"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["pods/exec", "pods/portforward"], "verbs": ["get", "create"]},
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
]
"""All that a session needs; neither events nor logs."""
HALF_OF_EXEC = [*ALL[:1], {**ALL[1], "verbs": ["create"]}, *ALL[2:]]


def checked(moorage: Moorage, *flags: str | Path, code: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """The whole answer, and its steps by key."""
    answer = moorage("doctor", *moorage.place(), "-o", "json", *flags, code=code).json()
    return answer, {step["key"]: step for step in answer["steps"]}


def failed(steps: dict[str, Any], key: str, *, rights: bool = False) -> dict[str, Any]:
    """The step that failed alone, once those after it are shown not to have been tried."""
    wrong = [name for name, step in steps.items() if step["status"] == "failed"]
    assert wrong == ([key, "rights"] if rights else [key]), [steps[name]["detail"] for name in wrong]
    order = list(steps)
    later = order[order.index(wrong[-1]) + 1 :]
    assert {name: steps[name]["status"] for name in later} == dict.fromkeys(later, "not_run")
    step: dict[str, Any] = steps[key]
    return step


def test_every_mandatory_permission_and_the_version_are_shown_and_no_workload_is_kept(
    moorage: Moorage, template: Template, namespace: str, cluster: RealCluster, audit: Judge
) -> None:
    audit.forget()
    answer, steps = checked(moorage, "--template", template())
    assert answer["success"] is True, answer
    assert answer["server_version"].startswith("v1.")
    assert answer["namespace"] == namespace
    assert steps["rights.pods"]["detail"] == "get, list, watch, create, delete, patch"
    assert steps["rights.pods/exec"]["detail"] == "get, create"
    assert steps["rights.persistentvolumeclaims"]["detail"] == "get, create, delete, patch"
    assert steps["admission.pod"]["status"] == steps["streaming"]["status"] == "ok"
    assert objects(cluster.kubectl, namespace) == ""
    assert audit.writes(agent="moorage/", namespace=namespace) == []


def test_half_of_a_streaming_right_fails_and_the_script_names_both(
    moorage: Moorage, template: Template, limited_user: Users
) -> None:
    moorage.kubeconfig = limited_user(HALF_OF_EXEC)
    _, steps = checked(moorage, "--template", template(), code=1)
    step = failed(steps, "rights.pods/exec", rights=True)
    assert step["detail"] == "missing: get"
    assert "resources: [pods/exec], verbs: [get, create]" in steps["rights"]["fix"]


def test_without_events_and_logs_a_warning_and_a_session_still_starts(
    moorage: Moorage, template: Template, limited_user: Users
) -> None:
    moorage.kubeconfig = limited_user(ALL)
    answer, steps = checked(moorage, "--workspace", "empty_dir", "--template", template())
    assert answer["success"] is True, answer
    assert steps["rights.events"]["status"] == steps["rights.pods/log"]["status"] == "warning"
    run = moorage.run_args("--workspace", "empty_dir", "--rm", template=template(), command=["echo", "hi"])
    assert moorage(*run).out == b"hi\n"


def test_a_pod_that_is_too_free_for_the_namespace_fails_at_its_pod_security(
    moorage: Moorage, template: Template, namespace: str, cluster: RealCluster
) -> None:
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    _, steps = checked(moorage, "--template", template(), code=1)
    step = failed(steps, "pod_security")
    assert "violates PodSecurity" in step["detail"]
    assert "change the named fields" in step["fix"]
    assert objects(cluster.kubectl, namespace) == ""


def test_a_quota_that_the_claim_exceeds_fails_at_the_claim(
    moorage: Moorage, template: Template, namespace: str, cluster: RealCluster
) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": namespace}}
    cluster.apply({**quota, "spec": {"hard": {"requests.storage": "1Mi"}}})
    wait_for("the quota", lambda: cluster.get("quota", "q", "-n", namespace)["status"].get("hard"), 60)
    _, steps = checked(moorage, "--template", template(), code=1)
    step = failed(steps, "admission.claim")
    assert "exceeded quota: q" in step["detail"]
    assert "--workspace-size asks for less" in step["fix"]


def test_a_webhook_that_changes_what_is_ours_is_named_before_anything_is_made(
    moorage: Moorage, template: Template, namespace: str, cluster: RealCluster, local_cluster: Cluster
) -> None:
    change = [{"op": "replace", "path": "/spec/containers/0/command", "value": ["sh"]}]
    with mutating(cluster, local_cluster, namespace, lambda pod: change) as webhook:
        _, steps = checked(moorage, "--template", template(), code=1)
    step = failed(steps, "admission.pod")
    assert "changes what Moorage owns: spec.containers[agent].command" in step["detail"]
    assert webhook in step["detail"]
    assert "exempt objects labelled" in step["fix"]
    assert objects(cluster.kubectl, namespace) == ""


@contextmanager
def through_a_deaf_proxy(cluster: RealCluster, kubeconfig: Path) -> Iterator[None]:
    """The kubeconfig leads through a proxy that drops what a WebSocket needs."""
    config = json.loads(kubeconfig.read_text())
    entry = config["clusters"][0]["cluster"]
    with deaf_proxy(entry["server"], entry["certificate-authority-data"]) as address:
        config["clusters"][0]["cluster"] = {"server": address}
        kubeconfig.write_text(json.dumps(config))
        yield


def test_a_proxy_that_lets_rest_pass_and_no_websocket_fails_at_streaming(
    moorage: Moorage, template: Template, namespace: str, cluster: RealCluster, limited_user: Users
) -> None:
    moorage.kubeconfig = limited_user(ALL)
    with through_a_deaf_proxy(cluster, moorage.kubeconfig):
        _, steps = checked(moorage, "--template", template(), code=1)
    step = failed(steps, "streaming")
    assert "REST passes, WebSockets do not" in step["detail"]
    assert "pass on the headers Connection and Upgrade" in step["fix"]
    assert objects(cluster.kubectl, namespace) == ""


def test_an_expired_login_fails_at_authentication(
    moorage: Moorage, template: Template, limited_user: Users
) -> None:
    moorage.kubeconfig = limited_user(ALL)
    config = json.loads(moorage.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = "no-longer-good"
    moorage.kubeconfig.write_text(json.dumps(config))
    _, steps = checked(moorage, "--template", template(), code=1)
    step = failed(steps, "authentication")
    assert "Unauthorized" in step["detail"]
    assert "sign in again" in step["fix"]


def test_a_namespace_that_is_not_there_fails_with_the_command_that_makes_it(
    moorage: Moorage, template: Template
) -> None:
    moorage.namespace = "no-such-namespace"
    _, steps = checked(moorage, "--template", template(), code=1)
    step = failed(steps, "namespace")
    assert step["detail"] == "no-such-namespace does not exist"
    assert step["fix"] == "kubectl create namespace no-such-namespace"
