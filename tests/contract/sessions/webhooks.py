"""Admission webhooks served on this machine, for scenarios in which the cluster changes what it is given."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from testcluster.cluster import Cluster
from testcluster.identity import certificate
from testcluster.shell import wait_for
from testcluster.testrun import RealCluster

Patch = list[dict[str, Any]]
Change = Callable[[dict[str, Any]], Patch]
PROBE = "moorage-webhook-probe"


def _handler(change: Change) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            patch = base64.b64encode(json.dumps(change(review["request"]["object"])).encode()).decode()
            response = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch"}
            answer = {"apiVersion": review["apiVersion"], "kind": review["kind"]}
            body = json.dumps({**answer, "response": {**response, "patch": patch}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent: a failing test shows the API server's words."""

    return Handler


@contextmanager
def mutating(cluster: RealCluster, local: Cluster, namespace: str, change: Change) -> Iterator[str]:
    """A webhook that answers each created Pod of the namespace with ``change(pod)`` (a JSON patch); yields
    its name once it is called."""
    crt, key = certificate(local, "webhook", "/CN=testcluster-webhook", f"IP:{local.host}")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(crt, key)
    with http.server.ThreadingHTTPServer((local.host, 0), _handler(_or_probe(change))) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        ca = base64.b64encode((local.dir / "pki/ca.crt").read_bytes()).decode()
        url = f"https://{local.host}:{server.server_port}/"
        name = f"{namespace}.webhooks.test"
        try:
            cluster.apply(_configuration(name, namespace, {"url": url, "caBundle": ca}))
            wait_for("the webhook", lambda: _called(cluster, namespace), 20)
            yield name
        finally:
            cluster.kubectl("delete", "mutatingwebhookconfiguration", name, "--ignore-not-found")
            server.shutdown()
            thread.join()


def _or_probe(change: Change) -> Change:
    """The probe Pod tells that the API server has learned of the webhook."""

    def wrapped(pod: dict[str, Any]) -> Patch:
        if pod["metadata"].get("name") == PROBE:
            return [{"op": "add", "path": "/metadata/labels", "value": {"called": "yes"}}]
        return change(pod)

    return wrapped


def _configuration(name: str, namespace: str, client: dict[str, str]) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    hook = {
        "name": name,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "rules": [rule],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": name}, "webhooks": [hook]}


def _called(cluster: RealCluster, namespace: str) -> bool:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": PROBE, "namespace": namespace},
        "spec": {"containers": [{"name": "c", "image": "localhost/busybox:test"}]},
    }
    words = ("create", "-f", "-", "--dry-run=server", "-o", "json")
    made = json.loads(cluster.kubectl(*words, stdin=json.dumps(pod)))
    return "called" in made["metadata"].get("labels", {})
