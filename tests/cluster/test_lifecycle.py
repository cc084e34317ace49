"""What up makes, down removes: all of it, after a crash too, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from testcluster.build import HERE
from testcluster.cluster import MARK, Cluster, processes_of
from testcluster.objects import claim, pod
from testcluster.requirements import cgroup_roots
from testcluster.shell import run, wait_for
from testcluster.testrun import RealCluster, launch, new_dir, up_own


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for a cluster, gone afterwards whatever the test did."""
    path = new_dir()
    yield path
    if path.exists():
        launch("down", "--dir", path)


def traces(cluster: Cluster) -> dict[str, list[str]]:
    """What there is of a cluster on this machine, outside of its folder."""
    folder = f"{cluster.dir}/"
    mounts = Path("/proc/mounts").read_text().splitlines()
    loops = run("losetup", "-n", "-O", "BACK-FILE").splitlines()
    links = [str(p.readlink()) for p in Path("/var/log/containers").glob("*") if p.is_symlink()]
    return {
        "processes": [str(pid) for pid in processes_of(cluster.dir)],
        "mounts": [line for line in mounts if folder in line],
        "loops": [line for line in loops if folder in line],
        "cgroups": [str(root) for root in cgroup_roots() if (root / cluster.bridge).exists()],
        "networks": [path.name for path in Path("/sys/class/net").glob(f"{cluster.bridge}*")],
        "namespaces": [path.name for path in Path("/run/netns").glob(f"{cluster.bridge}*")],
        "links": [target for target in links if target.startswith(folder)],
    }


NOTHING: dict[str, list[str]] = {
    kind: [] for kind in ("processes", "mounts", "loops", "cgroups", "networks", "namespaces", "links")
}


def test_a_dry_run_says_what_would_be_made_and_makes_nothing(folder: Path) -> None:
    command = [sys.executable, str(HERE / "launcher.py"), "up", "--control-plane-only", "--dry-run"]
    done = subprocess.run([*command, "--dir", str(folder)], capture_output=True, text=True, check=True)
    assert f"folder {folder} with data" in done.stderr
    assert done.stdout == ""
    assert not folder.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["up", "--dir", "/tmp/" + "x" * 60], "too long for unix sockets"),
        (["up", "--control-plane-only", "--nodes", "1"], "exclude each other"),
        (["kubeconfig"], "Run: ./dev cluster up --dir"),
        (["restart", "etcd"], "no cluster in"),
        (["image", "build", "/nowhere.tar", "--ref", "r", "--file", "a"], "want INSIDE=HERE"),
    ],
)
def test_a_wrong_command_says_what_and_why(folder: Path, words: list[str], says: str) -> None:
    where = [] if "--dir" in words else ["--dir", str(folder)]
    command = [sys.executable, str(HERE / "launcher.py"), *words, *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert says in done.stderr
    assert not folder.exists()


def test_a_mistyped_command_is_told_by_the_name_that_was_typed() -> None:
    command = [sys.executable, str(HERE / "launcher.py"), "kubeconfg"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ./dev cluster ")
    assert "launcher.py" not in done.stderr


def test_down_refuses_a_folder_that_is_no_cluster() -> None:
    folder = new_dir()
    folder.mkdir()
    (folder / "precious").touch()
    command = [sys.executable, str(HERE / "launcher.py"), "down", "--dir", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    kept = (folder / "precious").exists()
    (folder / "precious").unlink()
    folder.rmdir()
    assert (done.returncode, kept) == (1, True)
    assert "nothing was removed" in done.stderr


@pytest.mark.node
def test_down_leaves_nothing_on_the_host_with_pods_and_volumes_in_use(folder: Path) -> None:
    cluster = up_own(folder)
    used = RealCluster(folder / "admin.kubeconfig", cluster, cluster.bin / "kubectl")
    used.apply(
        claim("default", "disk", "standard", volumeMode="Block"),
        pod("default", "block", device="disk"),
        claim("default", "files", "standard"),
        pod("default", "files", claim="files"),
    )
    used.kubectl("wait", "--for=condition=Ready", "--timeout=60s", "pod/block", "pod/files")
    assert not [kind for kind, found in traces(cluster).items() if not found]

    launch("down", "--dir", folder)
    assert traces(cluster) == NOTHING
    assert not folder.exists()


@pytest.mark.node
def test_down_works_when_the_record_is_lost(folder: Path) -> None:
    up_own(folder)
    (folder / "state.json").unlink()
    launch("down", "--dir", folder)
    assert traces(Cluster(folder)) == NOTHING
    assert not folder.exists()


@pytest.mark.cluster
def test_down_cleans_up_after_an_up_that_was_killed(folder: Path) -> None:
    command = [sys.executable, str(HERE / "launcher.py"), "up", "--control-plane-only", "--dir", str(folder)]
    command += ["--owner", str(os.getpid())]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as up:
        # etcd carries our mark as soon as it is started: the API server cannot be ready yet.
        wait_for("etcd", lambda: processes_of(folder), 60, 0.02)
        up.send_signal(signal.SIGKILL)
    assert processes_of(folder)
    launch("down", "--dir", folder)
    assert (processes_of(folder), folder.exists()) == ([], False)


@pytest.mark.cluster
def test_two_clusters_run_side_by_side(cluster: RealCluster, local_cluster: Cluster, folder: Path) -> None:
    other = up_own(folder, "--control-plane-only")
    assert set(other.state.ports.values()).isdisjoint(local_cluster.state.ports.values())
    launch("down", "--dir", folder)
    assert cluster.kubectl("get", "--raw", "/readyz") == "ok"


def test_the_mark_of_a_folder_is_not_that_of_its_neighbour(tmp_path: Path) -> None:
    env = {**os.environ, MARK: f"{tmp_path}/a"}
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, env=env) as child:
        found = {name: processes_of(tmp_path / name) for name in ("a", "aa")}
        child.kill()
    assert found == {"a": [child.pid], "aa": []}
