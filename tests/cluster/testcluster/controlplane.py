"""etcd, one or two API servers, controller manager, scheduler and the provisioner.

Called by up, start and restart. All flags of these programs are here. It never touches a node.
"""

from __future__ import annotations

import http.client
import json
import sys
from pathlib import Path

from .api import Api
from .build import HERE
from .cluster import Cluster
from .identity import authority, certificate, kubeconfig
from .shell import wait_for

SERVICE_IP, SERVICE_CIDR = "10.96.0.1", "10.96.0.0/16"
FAST = ("--kube-api-qps=500", "--kube-api-burst=1000")  # the defaults hold 500 Pods back to 25 s
ISSUER = "https://kubernetes.default.svc"


def up_control_plane(cluster: Cluster) -> None:
    """Start what is not running, and return when the default ServiceAccount exists."""
    authority(cluster)
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    addresses = ["127.0.0.1", SERVICE_IP, cluster.host]
    alternatives = ",".join([*(f"DNS:{n}" for n in names), *(f"IP:{a}" for a in addresses)])
    certificate(cluster, "apiserver", "/CN=testcluster-apiserver", alternatives)
    certificate(cluster, "kubelet-client", "/O=system:masters/CN=apiserver-kubelet-client")
    kubeconfig(cluster, "admin", "admin", "system:masters")
    up_etcd(cluster)
    up_api_server(cluster, 1)
    up_controllers(cluster)
    cluster.kubectl("apply", "-f", str(HERE / "manifests/base.yaml"))
    certificate(cluster, "provisioner", "/O=system:masters/CN=testcluster-provisioner")
    cluster.start("provisioner", sys.executable, HERE / "launcher.py", "provisioner", "--dir", cluster.dir)
    if cluster.state.second_server:
        up_api_server(cluster, 2)
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    api = Api(cluster)
    wait_for(
        "the default ServiceAccount",
        lambda: cluster.must_live("controller-manager") and api("GET", account)[0] == 200,
    )


def up_etcd(cluster: Cluster) -> None:
    """One etcd on loopback. Its data survive a restart of the process, not a power loss: fsync is off."""
    client, peer = (f"http://127.0.0.1:{cluster.state.ports[name]}" for name in ("etcd", "peer"))
    cluster.start(
        "etcd",
        "etcd",
        f"--data-dir={cluster.dir / 'etcd'}",
        "--unsafe-no-fsync",
        "--log-level=warn",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
    )


def server_name(number: int) -> str:
    """Process name of API server 1 or 2."""
    return "apiserver" if number == 1 else f"apiserver-{number}"


def up_api_server(cluster: Cluster, number: int) -> None:
    """Start API server 1 or 2 on the same etcd, and wait until it is ready."""
    pki, ports, name = cluster.dir / "pki", cluster.state.ports, server_name(number)
    # The second server stays out of the `kubernetes` Service, so that stopping it breaks nothing else.
    own = number == 1 and cluster.state.nodes
    endpoint = f"--advertise-address={cluster.host}" if own else "--endpoint-reconciler-type=none"
    cluster.start(
        name,
        "kube-apiserver",
        endpoint,
        f"--etcd-servers=http://127.0.0.1:{ports['etcd']}",
        f"--secure-port={ports['api' if number == 1 else 'api2']}",
        f"--bind-address={cluster.host}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        f"--client-ca-file={pki}/ca.crt",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--service-account-key-file={pki}/sa.pub",
        f"--service-account-signing-key-file={pki}/sa.key",
        f"--service-account-issuer={ISSUER}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        f"--kubelet-client-certificate={pki}/kubelet-client.crt",
        f"--kubelet-client-key={pki}/kubelet-client.key",
        "--shutdown-delay-duration=0s",
        f"--audit-policy-file={HERE}/manifests/audit-policy.yaml",
        f"--audit-log-path={cluster.dir}/logs/audit-{number}.log",
    )
    api = Api(cluster, server=number)
    wait_for(
        f"API server {number}",
        lambda: cluster.must_live("etcd", name) and api("GET", "/readyz")[0] == 200,
        120,
    )


def up_controllers(cluster: Cluster) -> None:
    """Controller manager and scheduler."""
    pki = cluster.dir / "pki"
    common = ("--leader-elect=false", "--secure-port=0", *FAST)
    controller = kubeconfig(cluster, "controller-manager", "system:kube-controller-manager", "testcluster")
    cluster.start(
        "controller-manager",
        "kube-controller-manager",
        f"--kubeconfig={controller}",
        *common,
        f"--service-account-private-key-file={pki}/sa.key",
        f"--root-ca-file={pki}/ca.crt",
        "--use-service-account-credentials=true",
        "--pvclaimbinder-sync-period=1s",
        f"--cluster-signing-cert-file={pki}/ca.crt",
        f"--cluster-signing-key-file={pki}/ca.key",
        f"--flex-volume-plugin-dir={cluster.dir}/flexvolume",
    )
    scheduler = kubeconfig(cluster, "scheduler", "system:kube-scheduler", "testcluster")
    cluster.start("scheduler", "kube-scheduler", f"--kubeconfig={scheduler}", *common)


def compact(cluster: Cluster) -> int:
    """Drop all history from etcd and return the revision: old resourceVersions then answer 410 Gone.

    A running API server may still serve a recent version from its watch cache; restart it to be sure.
    """

    def etcd(path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", cluster.state.ports["etcd"], timeout=30)
        try:
            connection.request("POST", path, json.dumps(body))
            answer: dict[str, dict[str, str]] = json.loads(connection.getresponse().read())
            return answer
        finally:
            connection.close()

    revision = int(etcd("/v3/maintenance/status", {})["header"]["revision"])
    etcd("/v3/kv/compaction", {"revision": str(revision), "physical": True})
    return revision


def wait_nodes(cluster: Cluster, names: list[str]) -> None:
    """Wait until every named node is Ready; fail at once when a component has died."""
    api = Api(cluster)

    def ready() -> bool:
        cluster.must_live(*cluster.state.pids)
        nodes = api("GET", "/api/v1/nodes")[1]["items"]
        good = {
            node["metadata"]["name"]
            for node in nodes
            for condition in node["status"].get("conditions", [])
            if condition["type"] == "Ready" and condition["status"] == "True"
        }
        return good >= set(names)

    wait_for(f"nodes {', '.join(names)} to be Ready", ready, 90)


def audit_logs(cluster: Cluster) -> list[Path]:
    """Audit logs of both servers, rotated ones included."""
    return sorted((cluster.dir / "logs").glob("audit-*.log"))
