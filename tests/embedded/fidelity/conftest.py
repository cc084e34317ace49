"""Both clusters at once: the real API server of the run, and an embedded one in a thread of this process."""

from __future__ import annotations

import asyncio
import json
import secrets
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from testcluster.shell import wait_for
from testcluster.testrun import RealCluster

from moorage.embedded import EmbeddedCluster

from .sides import Side

AGENT = {"User-Agent": "fidelity/1"}


@dataclass(frozen=True)
class Pair:
    """The two sides, with two namespaces of the same names; limits and quotas are tried in ``quiet``."""

    real: Side
    embedded: Side
    namespace: str
    quiet: str
    prefix: str


@pytest.fixture(scope="module")
def pair(cluster: RealCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded cluster", daemon=True)
    thread.start()
    embedded = EmbeddedCluster(tmp_path_factory.mktemp("fidelity") / "cluster")
    asyncio.run_coroutine_threadsafe(embedded.start(), loop).result(60)
    where = urlsplit(embedded.address)
    trusted = ssl.create_default_context(cadata=embedded.identity.authority)
    token = {"Authorization": f"Bearer {embedded.identity.token}"}
    real = _administrator(cluster)
    other = Side("embedded", str(where.hostname), int(where.port or 0), trusted, {**AGENT, **token})
    prefix = f"fidelity-{secrets.token_hex(3)}-"
    names = [f"{prefix}{word}" for word in ("all", "limits")]
    for side in (real, other):
        for name in names:
            _furnish(side, name)
    yield Pair(real, other, names[0], names[1], prefix)
    for side in (real, other):
        for name in names:
            side.json("DELETE", f"/api/v1/namespaces/{name}")
        side.close()
    asyncio.run_coroutine_threadsafe(embedded.stop(), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def _administrator(cluster: RealCluster) -> Side:
    """By the certificate of the administrator's kubeconfig."""
    if cluster.local is None:
        pytest.skip("needs the launcher's own cluster, not MOORAGE_TEST_KUBECONFIG")
    config = json.loads(Path(cluster.kubeconfig).read_text())
    server, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    tls = ssl.create_default_context(cafile=server["certificate-authority"])
    tls.load_cert_chain(user["client-certificate"], user["client-key"])
    where = urlsplit(server["server"])
    return Side("real", str(where.hostname), int(where.port or 0), tls, AGENT)


def _furnish(side: Side, name: str) -> None:
    """A namespace that its controllers have done with."""
    side.json("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    there = ("serviceaccounts/default", "configmaps/kube-root-ca.crt")
    paths = [f"/api/v1/namespaces/{name}/{what}" for what in there]
    wait_for("a namespace's own objects", lambda: all(side.json("GET", path).code == 200 for path in paths))
