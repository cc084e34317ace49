"""The API server refuses and changes what a real one refuses and changes."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testcluster.cluster import Cluster
from testcluster.identity import certificate
from testcluster.objects import on_kwok, pod
from testcluster.shell import Failure, wait_for
from testcluster.testrun import RealCluster, launch

pytestmark = pytest.mark.cluster
HOOKED = base64.b64encode(
    json.dumps([{"op": "add", "path": "/metadata/labels", "value": {"hooked": "yes"}}]).encode()
).decode()


class AddsLabel(http.server.BaseHTTPRequestHandler):
    """A mutating webhook that labels every object."""

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        patch = {"allowed": True, "patchType": "JSONPatch", "patch": HOOKED}
        response = {"uid": review["request"]["uid"], **patch}
        answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Silent: a failing test shows the API server's words."""


@pytest.fixture
def webhook(local_cluster: Cluster) -> Iterator[dict[str, Any]]:
    """A webhook served on this machine; yields its `clientConfig`."""
    crt, key = certificate(local_cluster, "webhook", "/CN=testcluster-webhook", f"IP:{local_cluster.host}")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(crt, key)
    with http.server.ThreadingHTTPServer((local_cluster.host, 0), AddsLabel) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        ca = base64.b64encode((local_cluster.dir / "pki/ca.crt").read_bytes()).decode()
        yield {"url": f"https://{local_cluster.host}:{server.server_port}/", "caBundle": ca}
        server.shutdown()
        thread.join()


def test_a_webhook_on_this_machine_changes_pods(
    cluster: RealCluster, namespace: str, webhook: dict[str, Any]
) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    hook = {
        "name": "pods.testcluster.local",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": webhook,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "rules": [rule],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    cluster.apply({**kind, "metadata": {"name": namespace}, "webhooks": [hook]})
    try:

        def hooked() -> bool:
            dry = ("create", "-f", "-", "--dry-run=server", "-o", "json")
            made = json.loads(cluster.kubectl(*dry, stdin=json.dumps(pod(namespace, "p"))))
            return bool(made["metadata"].get("labels") == {"hooked": "yes"})

        wait_for("the webhook", hooked, 20)
    finally:
        cluster.kubectl("delete", "mutatingwebhookconfiguration", namespace)


def test_pod_security_restricted_names_each_violation(cluster: RealCluster, namespace: str) -> None:
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    with pytest.raises(Failure, match='violates PodSecurity "restricted'):
        cluster.apply(pod(namespace, "p"))


def test_a_used_up_quota_refuses(cluster: RealCluster, namespace: str) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": namespace}}
    cluster.apply({**quota, "spec": {"hard": {"pods": "1"}}})
    wait_for("the quota", lambda: cluster.get("quota", "q", "-n", namespace)["status"].get("hard"), 20)
    cluster.apply(pod(namespace, "one", **on_kwok("amd64")))
    with pytest.raises(Failure, match="exceeded quota"):
        cluster.apply(pod(namespace, "two", **on_kwok("amd64")))


def test_a_limited_user_may_do_what_the_rules_say_and_nothing_else(
    cluster: RealCluster, namespace: str, limited_user: Callable[[list[dict[str, Any]]], Path]
) -> None:
    user = limited_user([{"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list"]}])
    assert cluster.kubectl("get", "pods", "-o", "name", kubeconfig=user) == ""
    for refused in (("delete", "pod", "x"), ("get", "secrets"), ("get", "pods", "-n", "default")):
        with pytest.raises(Failure, match="Forbidden"):
            cluster.kubectl(*refused, kubeconfig=user)


def test_a_kubeconfig_of_the_launcher_names_a_user_without_rights(
    cluster: RealCluster, local_cluster: Cluster
) -> None:
    path = Path(launch("kubeconfig", "--dir", local_cluster.dir, "--user", "alice", "--group", "team"))
    whoami = json.loads(cluster.kubectl("auth", "whoami", "-o", "json", kubeconfig=path))
    assert whoami["status"]["userInfo"]["username"] == "alice"
    assert "team" in whoami["status"]["userInfo"]["groups"]
    with pytest.raises(Failure, match="Forbidden"):
        cluster.kubectl("get", "pods", kubeconfig=path)
