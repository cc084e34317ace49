"""What a cluster changes on the machine outside of its folder: said beforehand, made, and removed.

Called by up and down. Every name carries the cluster's id, so removal needs no record and never
touches what another cluster or the machine itself owns. It starts no process.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from .build import bin_dir, missing_programs
from .cluster import Cluster, processes_of
from .requirements import cgroup_roots, missing_packages
from .shell import Failure, born_at, read_bytes, run, wait_for

NETNS = Path("/run/netns")


def changes(cluster: Cluster, nodes: int, kwok: int) -> list[str]:
    """One line for each thing `up` creates on this machine; all but packages and binaries go with `down`."""
    lines = [f"folder {cluster.dir} with data, certificates, logs and images"]
    if todo := missing_programs(bool(nodes)):
        lines.append(
            f"binaries in {bin_dir()} (kept by down): {len(todo)} to compile, minutes when nothing is cached"
        )
    if packages := missing_packages(bool(nodes)):
        lines.append(f"Debian packages (kept by down): {' '.join(packages)}")
    parts = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "provisioner"]
    if kwok:
        parts.append(f"kwok with {kwok} amd64 and 1 arm64 fake nodes")
    where = "on 127.0.0.1" if not nodes else f"on bridge {cluster.bridge} (10.N.255.1, N a free number)"
    lines.append(f"processes {where}: {', '.join(parts)}")
    if nodes:
        namespaces = [cluster.netns(node) for node in range(1, nodes + 1)]
        lines += [
            f"bridge {cluster.bridge}, {nodes} veth pair(s), routes to the Pods' networks 10.N.1.0/24 and on",
            f"network namespace(s) {', '.join(namespaces)}; iptables rules only inside them",
            f"cgroup {cluster.bridge} in {', '.join(str(root) for root in cgroup_roots()) or 'no hierarchy'}",
            f"mounts below {cluster.dir}, and a loop device for each Block volume",
            "in each namespace containerd, kubelet, kube-proxy, netpol and the Pods",
            "links in /var/log/containers, results in /var/lib/cni, shim sockets in /run/containerd/s",
        ]
    return lines


def free_net(cluster: Cluster) -> int:
    """A number N so that nothing on this machine routes to 10.N.0.0/16."""
    routes = " " + run("ip", "-4", "route", "show", "table", "all")
    nets = [number for number in range(130, 250) if f" 10.{number}." not in routes]
    if not nets:
        raise Failure("every network from 10.130.0.0/16 to 10.249.0.0/16 is in use on this machine")
    return nets[int(cluster.id, 16) % len(nets)]


def up_bridge(cluster: Cluster) -> None:
    """The bridge, which also reserves the cluster's network."""
    if not Path(f"/sys/class/net/{cluster.bridge}").exists():
        run("ip", "link", "add", cluster.bridge, "type", "bridge")
    if f" {cluster.host}/" not in run("ip", "-4", "addr", "show", "dev", cluster.bridge):
        run("ip", "addr", "add", f"{cluster.host}/24", "dev", cluster.bridge)
    run("ip", "link", "set", cluster.bridge, "up")


def up_namespace(cluster: Cluster, node: int) -> None:
    """A network namespace for one node, behind the bridge. `replace` makes each step repeatable."""
    ns, bridge, veth = cluster.netns(node), cluster.bridge, f"{cluster.bridge}v{node}"
    if not (NETNS / ns).exists():
        run("ip", "netns", "add", ns)
    if not Path(f"/sys/class/net/{veth}").exists():
        run("ip", "link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", ns)
    run("ip", "link", "set", veth, "master", bridge, "up")
    run("ip", "-n", ns, "addr", "replace", f"{cluster.node_ip(node)}/24", "dev", "eth0")
    for device in ("eth0", "lo"):
        run("ip", "-n", ns, "link", "set", device, "up")
    run("ip", "-n", ns, "route", "replace", "default", "via", f"{cluster.lan}.1")
    net = cluster.state.net
    run("ip", "route", "replace", f"10.{net}.{node}.0/24", "via", cluster.node_ip(node))
    for other in range(1, cluster.state.nodes + 1):
        if other != node:
            run("ip", "-n", ns, "route", "replace", f"10.{net}.{other}.0/24", "via", cluster.node_ip(other))
    forward = "echo 1 > /proc/sys/net/ipv4/ip_forward"
    bridged = "f=/proc/sys/net/bridge/bridge-nf-call-iptables; [ ! -e $f ] || echo 1 > $f"
    run("nsenter", f"--net={NETNS / ns}", "sh", "-c", f"{forward}; {bridged}")


def up_cgroups(cluster: Cluster, node: int) -> str:
    """Make a cgroup for the node in every hierarchy and return its path.

    With a shared one two kubelets would remove each other's Pods.
    """
    path = f"{cluster.bridge}/node{node}"
    for root in cgroup_roots():
        top, group = root / cluster.bridge, root / path
        for parent in (root, top):
            group.mkdir(parents=True, exist_ok=True)
            if (parent / "cgroup.subtree_control").exists():
                for controller in ("cpu", "cpuset", "memory", "pids", "io", "hugetlb"):
                    with contextlib.suppress(OSError):  # not every kernel has every controller
                        (parent / "cgroup.subtree_control").write_text(f"+{controller}")
        if root.name == "cpuset":
            for child in (top, group):
                for item in ("cpuset.cpus", "cpuset.mems"):
                    (child / item).write_text((root / item).read_text())
    return f"/{path}"


def remove(cluster: Cluster) -> None:
    """End every process of the cluster and remove every trace on the machine, then the folder."""
    _end(lambda: processes_of(cluster.dir) + _recorded(cluster), "the cluster's processes")
    if os.geteuid() == 0:
        groups = _cgroups(cluster)
        traces = _stray_files(cluster)
        _end(lambda: _shims(cluster) + _members(groups), "the Pods' processes")
        _detach_loops(cluster)
        _unmount(cluster)
        _remove_network(cluster)
        _remove_cgroups(groups)
        for path in traces:
            path.unlink(missing_ok=True)
    if cluster.dir.exists():
        shutil.rmtree(cluster.dir)


def _recorded(cluster: Cluster) -> list[int]:
    pids = cluster.state.pids.values() if cluster.exists else ()
    return [pid for pid, born in pids if born and born_at(pid) == born]


def _end(find: Callable[[], list[int]], what: str) -> None:
    def ended() -> bool:
        pids = find()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    wait_for(f"{what} to end", ended, 30)


def _shims(cluster: Cluster) -> list[int]:
    folder, found = f"{cluster.dir}/".encode(), []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        line = read_bytes(path)
        if b"containerd-shim-runc-v2" in line.split(b"\0")[0] and folder in line:
            found.append(int(path.parent.name))
    return found


def _cgroups(cluster: Cluster) -> list[Path]:
    """Our cgroups, the deepest first."""
    tops = [root / cluster.bridge for root in cgroup_roots()]
    return [Path(folder) for top in tops for folder, _, _ in os.walk(top, topdown=False)]


def _members(groups: list[Path]) -> list[int]:
    # Killing a shim does not kill its containers: what is left sits in our cgroups.
    return [int(pid) for group in groups for pid in read_bytes(group / "cgroup.procs").split()]


def _detach_loops(cluster: Cluster) -> None:
    if not shutil.which("losetup"):
        return
    backing = {}
    for line in run("losetup", "-n", "-O", "NAME,BACK-FILE").splitlines():
        name, _, file = line.strip().partition(" ")
        backing[name] = file.strip()
    ours = [name for name, file in backing.items() if file.startswith(f"{cluster.dir}/")]
    # kubelet lays a loop device of its own over each block volume: detach it first, or it stays for ever.
    above = [name for name, file in backing.items() if file.split(" ")[0] in ours]
    for name in above + ours:
        run("losetup", "-d", name, check=False)


def _unmount(cluster: Cluster) -> None:
    def unmounted() -> bool:
        lines = Path("/proc/mounts").read_text().splitlines()
        mounts = [line.split()[1].encode().decode("unicode_escape") for line in lines]
        left = sorted((mount for mount in mounts if mount.startswith(f"{cluster.dir}/")), reverse=True)
        for mount in left:
            run("umount", "-l", mount, check=False)
        return not left

    wait_for("the mounts to go", unmounted, 30)


def _remove_network(cluster: Cluster) -> None:
    for path in NETNS.glob(f"{cluster.bridge}n*"):
        run("ip", "netns", "del", path.name, check=False)
    for path in Path("/sys/class/net").glob(f"{cluster.bridge}*"):
        run("ip", "link", "del", path.name, check=False)


def _remove_cgroups(groups: list[Path]) -> None:
    for group in groups:

        def gone(group: Path = group) -> bool:
            if group.is_dir():
                group.rmdir()  # busy for a moment after its last process
            return True

        wait_for(f"cgroup {group} to go", gone, 10)


def _stray_files(cluster: Cluster) -> list[Path]:
    """Files that kubelet, CNI and containerd keep at fixed places and that point into our folder."""
    folder = f"{cluster.dir}/"
    links = [
        p
        for p in Path("/var/log/containers").glob("*")
        if p.is_symlink() and str(p.readlink()).startswith(folder)
    ]
    results = [p for p in Path("/var/lib/cni/results").glob("*") if folder.encode() in read_bytes(p)]
    sockets = []
    for record in cluster.dir.glob("n*/state/*/k8s.io/*/bootstrap.json"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            sockets.append(Path(json.loads(record.read_text())["address"].removeprefix("unix://")))
    return links + results + sockets
