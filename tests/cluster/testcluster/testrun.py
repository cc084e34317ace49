"""One cluster for one run of the tests: chosen, started when the first test asks, shared, taken down.

Called by tests/conftest.py only. All processes of a run (pytest-xdist workers too) agree on the
folder through the environment. It starts clusters through launcher.py, as a person would.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import lifecycle
from .build import HERE, bin_dir
from .cluster import Cluster, default_dir
from .shell import Failure, exclusive, run, wait_for

KUBECONFIG = "MOORAGE_TEST_KUBECONFIG"  # test against this cluster, whatever it is
CLUSTER_DIR = "MOORAGE_TEST_CLUSTER_DIR"  # use, or start and leave, the cluster in this folder
VERSION = "MOORAGE_TEST_KUBERNETES"  # of the control plane of the run's own cluster; it has no real node then
KEEP = "MOORAGE_KEEP_CLUSTER"  # "1": leave the run's own cluster up
RUN_DIR = "MOORAGE_TEST_RUN_DIR"  # set by the first process of a run: "PID:FOLDER"
PREFIX = "moorage-t"
KWOK = 2


@dataclass(frozen=True)
class RealCluster:
    """The cluster a test talks to; `local` is None when it is somebody else's."""

    kubeconfig: Path
    local: Cluster | None
    program: Path = field(repr=False)

    def kubectl(
        self, *args: str, stdin: str | None = None, check: bool = True, kubeconfig: Path | None = None
    ) -> str:
        """Run kubectl as admin or with another kubeconfig; return stdout. Raises Failure on a refusal."""
        # A failed command's stdout is empty or partial: with check=False only success and its text count.
        config = kubeconfig or self.kubeconfig
        return run(self.program, "--kubeconfig", config, *args, stdin=stdin, check=check)

    def apply(self, *objects: Mapping[str, Any], kubeconfig: Path | None = None) -> str:
        """Server-side create or update of objects. Raises Failure with the API server's words."""
        items = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        return self.kubectl("apply", "-f", "-", stdin=items, kubeconfig=kubeconfig)

    def get(self, *what: str) -> Any:
        """`kubectl get -o json`, decoded. Raises Failure when it does not exist."""
        return json.loads(self.kubectl("get", *what, "-o", "json"))


def new_dir() -> Path:
    """A folder name for a cluster of this process: short, because of unix sockets."""
    base = Path(tempfile.gettempdir())
    if len(str(base)) > 35:
        base = Path("/tmp")
    return base / f"{PREFIX}{os.getpid()}-{secrets.token_hex(2)}"


def begin_run() -> None:
    """Choose the run's folder, unless a process above us has done so."""
    os.environ.setdefault(RUN_DIR, f"{os.getpid()}:{new_dir()}")


def end_run() -> None:
    """Take the run's own cluster down, if this process chose its folder."""
    pid, _, folder = os.environ.get(RUN_DIR, "").partition(":")
    if pid != str(os.getpid()):
        return
    del os.environ[RUN_DIR]
    if os.environ.get(KEEP) != "1" and Path(folder).exists():
        launch("down", "--dir", folder)


def launch(*args: str | Path, check: bool = True) -> str:
    """Run launcher.py; its progress goes to our stderr, its answer is returned."""
    words = [sys.executable, str(HERE / "launcher.py"), *map(str, args)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if check and done.returncode:
        raise Failure(f"./dev cluster {' '.join(map(str, args))} failed; its reason stands above")
    return done.stdout.strip()


def up_own(folder: Path, *args: str) -> Cluster:
    """Start a cluster that only the calling test uses; the caller takes it down.

    When this process is killed first, the next run does (`sweep`).
    """
    launch("up", "--dir", folder, *args, "--owner", str(os.getpid()))
    return Cluster(folder)


def acquire(nodes: int) -> RealCluster:
    """The cluster for this run, with at least that many real nodes; started now if it is not up."""
    if theirs := os.environ.get(KUBECONFIG):
        return _external(Path(theirs))
    if given := os.environ.get(CLUSTER_DIR):
        return _up(Path(given), nodes, owned=False)
    common = Cluster(default_dir())
    version = os.environ.get(VERSION, "")
    if not version and lifecycle.healthy(common) and common.state.nodes >= nodes and common.state.kwok:
        return _in_use(common)
    pid, _, folder = os.environ[RUN_DIR].partition(":")
    with exclusive(Path(f"{folder}.lock"), "another process of this run starts the cluster; waiting for it"):
        sweep()
        cluster = _up(Path(folder), nodes, owned=True, owner=pid, version=version)
    Path(f"{folder}.lock").unlink(missing_ok=True)
    return cluster


def _up(folder: Path, nodes: int, *, owned: bool, owner: str = "", version: str = "") -> RealCluster:
    cluster = Cluster(folder)
    if not lifecycle.healthy(cluster):
        # An existing cluster is repaired as it is; its number of nodes cannot change.
        wanted = cluster.state.nodes if cluster.exists else nodes
        size = ("--nodes", str(wanted)) if wanted else ("--control-plane-only",)
        whose = ("--owner", owner) if owned else ()
        launch("up", "--dir", folder, *size, "--kwok", str(KWOK), *whose, "--kubernetes", version)
        cluster = Cluster(folder)
    if cluster.state.nodes < nodes:
        raise Failure(
            f"the cluster in {folder} has no real node, which tests marked `node` need: take it down"
        )
    return _in_use(cluster)


def _in_use(cluster: Cluster) -> RealCluster:
    return RealCluster(cluster.dir / "admin.kubeconfig", cluster, cluster.bin / "kubectl")


def _external(kubeconfig: Path) -> RealCluster:
    if not kubeconfig.is_file():
        raise Failure(f"{KUBECONFIG}={kubeconfig}: no such file")
    program = shutil.which("kubectl") or str(bin_dir() / "kubectl")
    if not Path(program).exists():
        raise Failure("tests on another cluster need kubectl on PATH, or a run of: ./dev cluster build")
    return RealCluster(kubeconfig.resolve(), None, Path(program))


def sweep() -> None:
    """Take down what earlier runs of this user left behind when they were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        with contextlib.suppress(Failure, OSError):
            cluster = Cluster(folder)
            if folder.is_dir() and lifecycle.belongs_to_me(cluster) and lifecycle.stale(cluster):
                launch("down", "--dir", folder)


def limited_kubeconfig(
    cluster: RealCluster, namespace: str, rules: list[dict[str, Any]], folder: Path
) -> Path:
    """A kubeconfig whose user may do exactly what `rules` (of a Role) say, in one namespace.

    The user is a ServiceAccount, so that this works on any cluster. The file is private.
    """
    name = f"limited-{secrets.token_hex(3)}"
    meta = {"name": name, "namespace": namespace}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": meta}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    cluster.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {**rbac, "kind": "Role", "rules": rules},
        {**rbac, "kind": "RoleBinding", "subjects": [subject], "roleRef": role},
    )
    config = json.loads(cluster.kubectl("config", "view", "--minify", "--flatten", "--raw", "-o", "json"))
    token = cluster.kubectl("create", "token", name, "-n", namespace).strip()
    config["users"] = [{"name": name, "user": {"token": token}}]
    config["contexts"][0]["context"].update(user=name, namespace=namespace)
    path = folder / f"{name}.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    _wait_for_rules(cluster, path, namespace, rules)
    return path


def _wait_for_rules(
    cluster: RealCluster, kubeconfig: Path, namespace: str, rules: list[dict[str, Any]]
) -> None:
    """The authorizer learns of a new Role a moment after it was created."""
    for rule in rules:
        group = rule.get("apiGroups", [""])[0]
        resource, _, sub = rule["resources"][0].partition("/")
        question = [rule["verbs"][0], f"{resource}.{group}" if group else resource, "-n", namespace]
        if sub:
            question.append(f"--subresource={sub}")

        def may(question: list[str] = question) -> bool:
            answer = cluster.kubectl("auth", "can-i", *question, kubeconfig=kubeconfig, check=False)
            return answer.strip() == "yes"

        wait_for(f"permission to {' '.join(question)}", may, 20)
