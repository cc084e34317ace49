"""A real node: containerd, kubelet, kube-proxy and the NetworkPolicy engine in a network namespace.

Called by up and by image import. Configuration of these four programs is here; removal is in host.
"""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

from .cluster import Cluster
from .host import up_cgroups, up_namespace
from .identity import certificate, kubeconfig
from .images import IMAGES
from .shell import Failure, run, say, wait_for

QUEUE = "FORWARD -m conntrack --ctstate NEW -j NFQUEUE --queue-num 100"


def up_node(cluster: Cluster, node: int) -> None:
    """Start what does not run on one node. Images are there afterwards, the node is Ready a little later."""
    home = cluster.dir / f"n{node}"
    (home / "cni").mkdir(parents=True, exist_ok=True)
    up_namespace(cluster, node)
    _containerd(cluster, node, home)
    for image in IMAGES:
        if f"localhost/{image}:test" not in ctr(cluster, node, "images", "ls", "-q"):
            ctr(cluster, node, "images", "import", str(cluster.bin / f"{image}.tar"))
    _kubelet(cluster, node, home, up_cgroups(cluster, node))
    cluster.start(
        f"proxy-{node}",
        "kube-proxy",
        f"--hostname-override=node{node}",
        "--proxy-mode=iptables",
        "--oom-score-adj=0",
        f"--kubeconfig={kubeconfig(cluster, 'proxy', 'system:kube-proxy', 'testcluster')}",
        f"--cluster-cidr=10.{cluster.state.net}.0.0/17",
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0s",
        "--conntrack-tcp-timeout-close-wait=0s",
        node=node,
    )
    _netpol(cluster, node)


def ctr(cluster: Cluster, node: int, *args: str) -> str:
    """Run containerd's own client on a node, in the namespace of Kubernetes."""
    return cluster.ctr(node, *args)


def import_image(cluster: Cluster, archive: Path) -> str:
    """Import an OCI or docker archive into every node and return what was imported."""
    if not archive.is_file():
        raise Failure(f"no image archive {archive}")
    if not cluster.state.nodes:
        raise Failure(
            "this cluster has no real node to import an image into: it was started with --control-plane-only"
        )
    # --all-platforms: an image labelled for another architecture is wanted as it is.
    nodes = range(1, cluster.state.nodes + 1)
    return "".join(
        ctr(cluster, n, "images", "import", "--all-platforms", str(archive.resolve())) for n in nodes
    )


def import_pinned(cluster: Cluster, archive: Path, ref: str) -> str:
    """As import_image, of an OCI archive with the one image ``ref``; its reference by digest, by which every
    node finds it. Repeatable."""
    with tarfile.open(archive) as tar:
        index = tar.extractfile("index.json")
        if index is None:
            raise Failure(f"{archive} is no OCI archive")
        digest = json.loads(index.read())["manifests"][0]["digest"]
    pinned = f"{ref.rpartition(':')[0]}@{digest}"
    nodes = range(1, cluster.state.nodes + 1)
    if not all(pinned in ctr(cluster, node, "images", "ls", "-q", f"name=={pinned}") for node in nodes):
        import_image(cluster, archive)
        for node in nodes:
            ctr(cluster, node, "images", "tag", "--force", ref, pinned)
    return pinned


def _path(cluster: Cluster) -> dict[str, str]:
    return {"PATH": f"{cluster.bin}:{os.environ['PATH']}"}


def _containerd(cluster: Cluster, node: int, home: Path) -> None:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(home / "ipam"),
            "routes": [{"dst": "0.0.0.0/0"}],
            "ranges": [[{"subnet": f"10.{cluster.state.net}.{node}.0/24"}]],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    network = {"cniVersion": "1.0.0", "name": cluster.netns(node), "plugins": [bridge, ports]}
    (home / "cni/10-test.conflist").write_text(json.dumps(network))
    # netns_mounts_under_state_dir: the Pods' namespaces go with the node's folder.
    (home / "containerd.toml").write_text(f'''version = 3
root = "{home}/root"
state = "{home}/state"
disabled_plugins = ["io.containerd.nri.v1.nri"]
[grpc]
  address = "{home}/ctd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{home}/opt"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "localhost/pause:test"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{cluster.bin}"]
    conf_dir = "{home}/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "{cluster.bin}/runc"
        Root = "{home}/runc"
        SystemdCgroup = false
''')
    name = f"containerd-{node}"
    cluster.start(name, "containerd", "-c", home / "containerd.toml", node=node, env=_path(cluster))
    wait_for(name, lambda: cluster.must_live(name) and ctr(cluster, node, "version"))


def _kubelet(cluster: Cluster, node: int, home: Path, cgroup: str) -> None:
    name, ip = f"node{node}", cluster.node_ip(node)
    identity = kubeconfig(cluster, f"kubelet-{node}", f"system:node:{name}", "system:nodes")
    subject = f"/O=system:nodes/CN=system:node:{name}"
    crt, key = certificate(cluster, f"kubelet-server-{node}", subject, f"DNS:{name},IP:{ip}")
    settings = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "x509": {"clientCAFile": f"{cluster.dir}/pki/ca.crt"},
            "webhook": {"enabled": True},
            "anonymous": {"enabled": False},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "failCgroupV1": False,
        "failSwapOn": False,
        "oomScoreAdj": 0,
        "containerRuntimeEndpoint": f"unix://{home}/ctd.sock",
        "tlsCertFile": str(crt),
        "tlsPrivateKeyFile": str(key),
        "podLogsDir": f"{home}/pods-log",
        "volumePluginDir": f"{home}/volplugins",
        "resolvConf": "",
        "makeIPTablesUtilChains": False,
        "clusterDomain": "cluster.local",
        "registryPullQPS": 0,
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "syncFrequency": "5s",
        "nodeStatusUpdateFrequency": "2s",
    }
    (home / "kubelet.yaml").write_text(json.dumps(settings))
    cluster.start(
        f"kubelet-{node}",
        "kubelet",
        f"--config={home / 'kubelet.yaml'}",
        f"--kubeconfig={identity}",
        f"--hostname-override={name}",
        f"--root-dir={home / 'kubelet'}",
        f"--node-ip={ip}",
        node=node,
        env=_path(cluster),
    )


def _netpol(cluster: Cluster, node: int) -> None:
    inside = f"nsenter --net=/run/netns/{cluster.netns(node)} iptables -w -t mangle"
    try:
        # An iptables rule, because not every kernel has the nftables queue expression.
        run("sh", "-c", f"{inside} -C {QUEUE} 2>/dev/null || {inside} -A {QUEUE}")
    except Failure as error:
        say(f"NetworkPolicy is not enforced on node{node}: {error}")
        return
    identity = kubeconfig(cluster, "netpol", "testcluster-netpol", "system:masters")
    cluster.start(f"netpol-{node}", "netpol", f"--node=node{node}", f"--kubeconfig={identity}", node=node)
