"""Two API servers on one etcd, history that is gone, and restarts: on a control plane of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from testcluster.api import Api
from testcluster.audit import AuditLog, Judge
from testcluster.cluster import Cluster
from testcluster.testrun import launch, new_dir, up_own

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def own() -> Iterator[Cluster]:
    """A control plane that nobody else uses, because these tests stop parts of it."""
    folder = new_dir()
    try:
        yield up_own(folder, "--control-plane-only")
    finally:
        launch("down", "--dir", folder)


def configmap(api: Api, name: str) -> int:
    made = api("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}})
    return made[0]


def test_the_second_server_sees_writes_of_the_first_and_both_are_judged(own: Cluster) -> None:
    judge = Judge(AuditLog(own))
    launch("start", "apiserver-2", "--dir", own.dir)
    path = launch("kubeconfig", "--server", "2", "--dir", own.dir)
    first, second = (Api(own, server=number, agent=f"probe-{number}") for number in (1, 2))
    assert json.loads(Path(path).read_text())["clusters"][0]["cluster"]["server"] == own.url(2)

    assert configmap(first, "one") == 201
    assert second("GET", "/api/v1/namespaces/default/configmaps/one")[0] == 200
    assert configmap(second, "two") == 201
    assert first("GET", "/api/v1/namespaces/default/configmaps/two")[0] == 200
    assert [(e.agent, e.name) for e in judge.writes(resource="configmaps", agent="probe")] == [
        ("probe-1", "one"),
        ("probe-2", "two"),
    ]

    launch("stop", "apiserver-2", "--dir", own.dir)
    with pytest.raises(ConnectionRefusedError):
        second("GET", "/readyz")
    assert first("GET", "/readyz")[0] == 200


def test_after_compact_old_versions_are_gone_and_data_are_not(own: Cluster) -> None:
    api, path = Api(own), "/api/v1/namespaces/default/configmaps"
    for name in ("a", "b", "c"):
        assert configmap(api, name) == 201
    page = api("GET", f"{path}?limit=1")[1]["metadata"]
    assert configmap(api, "later") == 201

    launch("compact", "--dir", own.dir)
    launch("restart", "apiserver", "--dir", own.dir)
    assert api("GET", f"{path}/a")[0] == 200
    status, body = api("GET", f"{path}?limit=1&continue={page['continue']}")
    assert (status, body["reason"]) == (410, "Expired")
    status, body = api("GET", f"{path}?watch=1&resourceVersion={page['resourceVersion']}&timeoutSeconds=5")
    assert body.get("object", body)["code"] == 410


def test_a_stopped_component_is_started_again_by_up(own: Cluster) -> None:
    launch("stop", "scheduler", "--dir", own.dir)
    assert not Cluster(own.dir).alive("scheduler")
    launch("up", "--control-plane-only", "--dir", own.dir)
    assert Cluster(own.dir).alive("scheduler")
