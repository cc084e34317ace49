"""The proxy before two real API servers, and namespaces in which schedules happen."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator

import pytest
from testcluster.audit import AuditLog
from testcluster.cluster import Cluster
from testcluster.objects import claim, pod
from testcluster.testrun import RealCluster, launch

from .campaign import Place
from .judge import Ground
from .proxy import Proxy, proxy

AT_ONCE = 6


@pytest.fixture
def second_server(local_cluster: Cluster) -> Iterator[str]:
    """URL of another API server on the same etcd."""
    was_there = local_cluster.alive("apiserver-2")
    if not was_there:
        launch("start", "apiserver-2", "--dir", local_cluster.dir)
    yield local_cluster.url(2)
    if not was_there:
        launch("stop", "apiserver-2", "--dir", local_cluster.dir)


@pytest.fixture
def token(cluster: RealCluster, namespace: str) -> Iterator[str]:
    """Of somebody who may do everything."""
    name = f"{namespace}-person"
    cluster.kubectl("-n", namespace, "create", "serviceaccount", name)
    cluster.kubectl(
        *("create", "clusterrolebinding", name, "--clusterrole=cluster-admin"),
        f"--serviceaccount={namespace}:{name}",
    )
    yield cluster.kubectl("-n", namespace, "create", "token", name, "--duration=24h").strip()
    cluster.kubectl("delete", "clusterrolebinding", name)


@pytest.fixture
async def front(local_cluster: Cluster, second_server: str) -> AsyncIterator[Proxy]:
    authority = ssl.create_default_context(cafile=str(local_cluster.dir / "pki/ca.crt"))
    async with proxy([local_cluster.url(1), second_server], authority) as made:
        yield made


@pytest.fixture
async def places(
    cluster: RealCluster, local_cluster: Cluster, namespace: str, front: Proxy, token: str
) -> AsyncIterator[list[Place]]:
    """A namespace for each schedule under way, with a Pod and a claim of somebody else."""
    names = [f"{namespace}-{number}" for number in range(AT_ONCE)]
    found = []
    for name in names:
        cluster.kubectl("create", "namespace", name)
        cluster.kubectl("-n", name, "wait", "--for=create", "serviceaccount/default", "--timeout=60s")
        cluster.apply(
            claim(name, "foreign", "", volumeName="no-such-volume"),
            pod(name, "foreign", schedulingGates=[{"name": "test/never"}]),
        )
        ground = Ground(front.http, local_cluster.url(1), token, name)
        found.append(Place(ground, AuditLog(local_cluster), {}))
    for place in found:
        cluster.kubectl(
            *("-n", place.ground.namespace, "wait", "pod/foreign", "--timeout=60s"),
            "--for=condition=PodScheduled=false",  # its status does not change any more
        )
        place.foreign = await place.ground.versions()
    yield found
    for name in names:
        await asyncio.to_thread(cluster.kubectl, "delete", "namespace", name, "--wait=false")
