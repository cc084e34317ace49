"""Which programs the cluster consists of, and how they are compiled from the pinned modules in tools/.

Called by launcher and up. Binaries land in a cache folder named after everything that decides
their content, so a change of a pin makes a new folder and an unchanged one is never rebuilt.
It never writes into the checkout.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from .requirements import go_command, require_packages
from .shell import cache_root, exclusive, go_environment, run, say

HERE = Path(__file__).resolve().parent.parent
TOOLS = HERE / "tools"
KUBERNETES = "1.36.3"
K8S_LDFLAGS = " ".join(
    (
        f"-s -w -X k8s.io/component-base/version.gitVersion=v{KUBERNETES}",
        "-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36",
        f"-X k8s.io/client-go/pkg/version.gitVersion=v{KUBERNETES}",
    )
)
CONTAINERD = "github.com/containerd/containerd/v2/cmd/"
CNI = "github.com/containernetworking/plugins/plugins/"


@dataclass(frozen=True)
class Program:
    """One binary: module folder under tools/, package, and what to build it with."""

    module: str
    package: str
    tags: str = ""
    cgo: bool = False
    control_plane: bool = False


PROGRAMS: dict[str, Program] = {
    "agent": Program("agent", ".", control_plane=True),
    "etcd": Program("k8s", "go.etcd.io/etcd/server/v3", control_plane=True),
    "kube-scheduler": Program("k8s", "k8s.io/kubernetes/cmd/kube-scheduler", control_plane=True),
    "kube-controller-manager": Program(
        "k8s", "k8s.io/kubernetes/cmd/kube-controller-manager", control_plane=True
    ),
    "kube-apiserver": Program("k8s", "k8s.io/kubernetes/cmd/kube-apiserver", control_plane=True),
    "kubectl": Program("k8s", "k8s.io/kubernetes/cmd/kubectl", control_plane=True),
    "kwok": Program("addons", "sigs.k8s.io/kwok/cmd/kwok", control_plane=True),
    "kubelet": Program("k8s", "k8s.io/kubernetes/cmd/kubelet"),
    "kube-proxy": Program("k8s", "k8s.io/kubernetes/cmd/kube-proxy"),
    "netpol": Program("addons", "./netpol"),
    **{
        name: Program("node", CONTAINERD + name, "no_btrfs no_devmapper no_zfs no_aufs")
        for name in ("containerd", "containerd-shim-runc-v2", "ctr")
    },
    "crictl": Program("node", "sigs.k8s.io/cri-tools/cmd/crictl"),
    "runc": Program("node", "github.com/opencontainers/runc", "seccomp", cgo=True),
    "bridge": Program("node", CNI + "main/bridge"),
    "loopback": Program("node", CNI + "main/loopback"),
    "portmap": Program("node", CNI + "meta/portmap"),
    "host-local": Program("node", CNI + "ipam/host-local"),
    "pause": Program("node", "./pause"),
}


def cache_key() -> str:
    """Hash of the pins, our own Go sources, the flags and the program list."""
    table = {name: asdict(program) for name, program in PROGRAMS.items()}
    digest = hashlib.sha256(json.dumps([K8S_LDFLAGS, table]).encode())
    for path in sorted(TOOLS.rglob("*")):
        if path.suffix in (".go", ".mod", ".sum"):
            digest.update(str(path.relative_to(TOOLS)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def bin_dir() -> Path:
    """Folder of the binaries and images that belong to this checkout's pins."""
    return cache_root() / cache_key()


def missing_programs(nodes: bool) -> list[str]:
    """Programs that are not in the cache yet, in the order they would be built."""
    return [
        name
        for name, program in PROGRAMS.items()
        if (nodes or program.control_plane) and not (bin_dir() / name).exists()
    ]


def build(nodes: bool) -> Path:
    """Compile what is missing and return the folder. One build at a time; others wait, then find it done.

    Raises Failure when Go, a Debian package or a module is missing.
    """
    folder = bin_dir()
    require_packages(nodes)
    if not missing_programs(nodes):
        return folder
    lock = cache_root() / f"{cache_key()}.lock"
    with exclusive(lock, f"another process builds {folder}; waiting for it"):
        todo = missing_programs(nodes)
        go = go_command() if todo else ""
        folder.mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(todo, 1):
            began = time.monotonic()
            say(f"building {name} ({number}/{len(todo)})")
            _compile(go, name, folder)
            say(f"built {name} ({number}/{len(todo)}) in {time.monotonic() - began:.1f} s")
    return folder


def _compile(go: str, name: str, folder: Path) -> None:
    program = PROGRAMS[name]
    part = folder / f".{name}.{os.getpid()}"
    env = {
        **go_environment(),
        "CGO_ENABLED": str(int(program.cgo)),
        "GOFLAGS": "-mod=readonly",
        "GOWORK": "off",
    }
    flags = K8S_LDFLAGS if program.module == "k8s" else "-s -w"
    command = (go, "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-tags", program.tags)
    run(*command, "-o", part, program.package, cwd=TOOLS / program.module, env=env)
    part.rename(folder / name)
