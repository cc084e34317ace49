"""The judge sees every write and who made it, and does not invent any."""

from __future__ import annotations

import json
from typing import Any

import pytest
from testcluster.api import Api
from testcluster.audit import Judge, parse
from testcluster.cluster import Cluster
from testcluster.objects import on_kwok, pod
from testcluster.testrun import RealCluster


def event(**more: Any) -> dict[str, Any]:
    """An audit event as the API server writes it."""
    return {
        "auditID": "1",
        "verb": "create",
        "user": {"username": "alice"},
        "userAgent": "moorage/1",
        "requestURI": "/api/v1/namespaces/n/pods",
        "objectRef": {"resource": "pods", "namespace": "n", "name": "p"},
        "responseStatus": {"code": 201},
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000001Z",
        **more,
    }


@pytest.mark.parametrize(
    ("raw", "write"),
    [
        (event(), True),
        (event(verb="list"), False),
        (event(verb="get", objectRef={"resource": "pods", "subresource": "exec"}), True),
        (event(requestURI="/api/v1/namespaces/n/pods?dryRun=All"), False),
        (event(verb="delete", requestObject={"dryRun": ["All"]}), False),
    ],
)
def test_what_counts_as_a_write(raw: dict[str, Any], write: bool) -> None:
    assert parse(raw).is_write is write


@pytest.mark.parametrize(
    ("raw", "uid"),
    [
        (event(), ""),
        (event(responseObject={"metadata": {"uid": "made"}}), "made"),
        (event(objectRef={"resource": "pods", "uid": "known"}), "known"),
        (event(verb="delete", requestObject={"preconditions": {"uid": "exact"}}), "exact"),
    ],
)
def test_the_uid_is_taken_from_wherever_it_stands(raw: dict[str, Any], uid: str) -> None:
    assert parse(raw).uid == uid


@pytest.mark.cluster
def test_a_create_and_a_proved_delete_are_seen_with_their_uid(
    cluster: RealCluster, local_cluster: Cluster, namespace: str, audit: Judge
) -> None:
    api, path = Api(local_cluster, agent="audit-probe/1"), f"/api/v1/namespaces/{namespace}/pods"
    made = api("POST", path, pod(namespace, "p", image="localhost/none", **on_kwok("amd64")))[1]
    api("GET", f"{path}/p")
    api("DELETE", f"{path}/p", {"preconditions": {"uid": "another"}})
    api("DELETE", f"{path}/p", {"preconditions": {"uid": made["metadata"]["uid"]}})

    uid = made["metadata"]["uid"]
    seen = audit.writes(agent="audit-probe", namespace=namespace)
    assert [(e.verb, e.resource, e.name, e.code) for e in seen] == [
        ("create", "pods", "p", 201),
        ("delete", "pods", "p", 409),
        ("delete", "pods", "p", 200),
    ]
    assert (seen[0].uid, seen[2].preconditions) == (uid, {"uid": uid})
    reads = [e.verb for e in audit.events(agent="audit-probe", namespace=namespace) if not e.is_write]
    assert reads == ["get"]


@pytest.mark.cluster
def test_what_was_forgotten_is_not_seen_again(local_cluster: Cluster, namespace: str, audit: Judge) -> None:
    api, path = Api(local_cluster, agent="audit-probe/2"), f"/api/v1/namespaces/{namespace}/configmaps"
    api("POST", path, {"metadata": {"name": "before"}})
    audit.forget()
    api("POST", path, {"metadata": {"name": "after"}})
    assert [e.name for e in audit.writes(agent="audit-probe/2")] == ["after"]


@pytest.mark.cluster
def test_values_of_secrets_are_not_in_the_log(local_cluster: Cluster, namespace: str, audit: Judge) -> None:
    api, path = Api(local_cluster, agent="audit-probe/3"), f"/api/v1/namespaces/{namespace}/secrets"
    api("POST", path, {"metadata": {"name": "s"}, "stringData": {"k": "planted-value"}})
    (written,) = audit.writes(agent="audit-probe/3")
    assert "planted-value" not in json.dumps(written.raw)
