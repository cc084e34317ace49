"""The verbs of a cluster: up (also the repair command), down, start, stop, restart.

Called by launcher.py and by the pytest fixtures. Up and down of one folder exclude each other.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .build import build
from .cluster import Cluster, State, free_ports
from .controlplane import server_name, up_api_server, up_control_plane, up_controllers, up_etcd, wait_nodes
from .host import changes, free_net, remove, up_bridge
from .images import build_images
from .kwok import up_kwok
from .node import up_node
from .requirements import require_root
from .shell import Failure, born_at, cache_root, exclusive, say
from .versions import control_plane

PORTS = ("api", "etcd", "peer", "api2", "kwok")
SECOND = server_name(2)


@contextlib.contextmanager
def _locked(cluster: Cluster) -> Iterator[Cluster]:
    with exclusive(cluster.lock, f"another process works on the cluster in {cluster.dir}; waiting for it"):
        yield Cluster(cluster.dir)  # read the state anew: the other process may have changed it


def announce(cluster: Cluster, nodes: int, kwok: int) -> None:
    """Say what `up` creates on this machine."""
    say("up creates on this machine:")
    for line in changes(cluster, nodes, kwok):
        say(f"  - {line}")


def up(cluster: Cluster, nodes: int, kwok: int, owner: int = 0, version: str = "") -> Cluster:
    """Start what is not running and return the cluster as it is now.

    `owner` is a pid whose death makes the cluster stale (see `stale`); `version` that of a new cluster's
    control plane. Raises Failure when the cluster exists with another number of nodes, or when the machine
    lacks something.
    """
    require_root(nodes)
    announce(cluster, nodes, kwok)
    folder = build(bool(nodes))
    if nodes:
        build_images(folder)
    others = control_plane(version)
    with _locked(cluster) as current:
        if not current.exists:
            _begin(current, folder, nodes, kwok, owner, others)
        elif current.state.nodes != nodes:
            have = f"{current.state.nodes} node(s)" if current.state.nodes else "a control plane only"
            raise Failure(f"{current.dir} is already up with {have}. Run down first, or use another --dir")
        current.state.kwok = max(current.state.kwok, kwok)
        current.save()
        _start(current)
        return current


def _begin(cluster: Cluster, folder: Path, nodes: int, kwok: int, owner: int, others: dict[str, str]) -> None:
    """Choose network and ports and record them; one cluster at a time, so that two never choose the same."""
    if cluster.dir.exists() and any(cluster.dir.iterdir()):
        raise Failure(
            f"{cluster.dir} is not empty and holds no cluster that is known to be complete. "
            f"Left from a cluster? Run: ./dev cluster down --dir {cluster.dir}. Else choose another --dir"
        )
    with exclusive(cache_root() / "locks" / "host", "another cluster chooses its network; waiting for it"):
        state = State(str(folder), nodes, kwok, free_net(cluster) if nodes else 0, free_ports(PORTS))
        state.owner = (owner, born_at(owner)) if owner else None
        state.others = others
        cluster.begin(state)
        if nodes:
            up_bridge(cluster)


def _start(cluster: Cluster) -> None:
    nodes = range(1, cluster.state.nodes + 1)
    if nodes:
        up_bridge(cluster)
    up_control_plane(cluster)
    say("control plane ready")
    for node in nodes:
        up_node(cluster, node)
    if nodes:
        wait_nodes(cluster, [f"node{node}" for node in nodes])
        say(f"{len(nodes)} node(s) ready")
    up_kwok(cluster)
    if cluster.state.kwok:
        say(f"{cluster.state.kwok} fake amd64 nodes and 1 fake arm64 node ready")


def down(cluster: Cluster) -> bool:
    """Remove everything `up` made on this machine but packages and the cache; False when there was nothing.

    Works after a crash, a half-finished up, and without the state file.
    """
    with exclusive(cluster.lock, f"another process works on the cluster in {cluster.dir}; waiting for it"):
        with contextlib.suppress(Failure):  # a damaged state file must not keep us from cleaning up
            cluster = Cluster(cluster.dir)
        known = cluster.exists or not cluster.dir.exists() or _looks_like_ours(cluster)
        if not known:
            raise Failure(f"{cluster.dir} is not a cluster's folder; nothing was removed")
        found = cluster.dir.exists()
        remove(cluster)
    cluster.lock.unlink(missing_ok=True)
    return found


def _looks_like_ours(cluster: Cluster) -> bool:
    names = {path.name for path in cluster.dir.iterdir()}
    return not names or {"logs", "pki"} <= names or cluster.file.exists()


def start(cluster: Cluster, name: str) -> None:
    """Start one component. `apiserver-2` is started only by this command."""
    with _locked(cluster) as current:
        if name == SECOND:
            current.state.second_server = True
            current.save()
            up_api_server(current, 2)
        elif name in current.state.pids or name in ("etcd", "apiserver"):
            _start(current)
        else:
            raise _unknown(current, name)


def stop(cluster: Cluster, name: str) -> None:
    """Stop one component and leave it stopped until start, restart or up."""
    with _locked(cluster) as current:
        if name not in current.state.pids:
            raise _unknown(current, name)
        if name == SECOND:
            current.state.second_server = False
        current.stop(name)


def restart(cluster: Cluster, name: str) -> None:
    """Stop and start one component; data and Pods stay."""
    with _locked(cluster) as current:
        if name not in current.state.pids:
            raise _unknown(current, name)
        current.stop(name)
        if name == "etcd":
            up_etcd(current)
        elif name in ("apiserver", SECOND):
            up_api_server(current, 1 if name == "apiserver" else 2)
        elif name in ("controller-manager", "scheduler"):
            up_controllers(current)
        else:
            _start(current)


def _unknown(cluster: Cluster, name: str) -> Failure:
    return Failure(
        f"no component {name!r} runs in {cluster.dir}; there are: {' '.join(sorted(cluster.state.pids))}"
    )


def healthy(cluster: Cluster) -> bool:
    """Whether a cluster exists and everything it recorded runs."""
    return (
        cluster.exists
        and bool(cluster.state.pids)
        and all(cluster.alive(name) for name in cluster.state.pids)
    )


def stale(cluster: Cluster) -> bool:
    """Whether the process that owned this cluster is gone."""
    owner = cluster.state.owner if cluster.exists else None
    return owner is not None and born_at(owner[0]) != owner[1]


def belongs_to_me(cluster: Cluster) -> bool:
    """Whether this user made the folder."""
    return cluster.dir.exists() and cluster.dir.stat().st_uid == os.geteuid()
