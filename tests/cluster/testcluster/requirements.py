"""What the machine must have before anything is built, started or tested, and how it gets there.

Called by build and up, by tests that need a program, and through `launcher.py require` by `./dev test`.
As root on Debian it installs what is missing; anywhere else it names it. It never changes what is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from .shell import Failure, go_environment, run, say

GO_AT_LEAST = (1, 26)
# Debian package -> the command that proves it is there
CONTROL_PLANE = {"openssl": "openssl"}
NODE = {
    "gcc": "gcc",
    "libc6-dev": "/usr/include/stdlib.h",
    "pkg-config": "pkg-config",
    "libseccomp-dev": "/usr/include/seccomp.h",
    "iproute2": "ip",
    "iptables": "iptables",
    "util-linux": "nsenter",
    "mount": "mount",
    "busybox-static": "busybox",
}
# What only some tests call, beside the cluster
TESTS = {
    "qemu-user": "qemu-aarch64",
    "dash": "dash",
    "bash": "bash",
    "postgresql-15": "/usr/lib/postgresql/15/bin/initdb",
}
EVERY = {**CONTROL_PLANE, **NODE, **TESTS}


def missing_packages(nodes: bool) -> list[str]:
    """Debian packages this machine lacks for a control plane, or for nodes too."""
    return missing_of([*CONTROL_PLANE, *(NODE if nodes else ())])


def missing_of(packages: Iterable[str]) -> list[str]:
    """Those of EVERY's packages that this machine lacks."""
    return [package for package in packages if not _present(package, EVERY[package])]


def _present(package: str, proof: str) -> bool:
    if package == "busybox-static":
        found = shutil.which(proof)
        # `ldd` succeeds on a dynamic program, which would be useless inside an image.
        return found is not None and bool(
            subprocess.run(["ldd", found], capture_output=True, check=False).returncode
        )
    return Path(proof).exists() if proof.startswith("/") else bool(shutil.which(proof))


def require_packages(nodes: bool) -> None:
    """Install what a control plane, or nodes too, need; or raise Failure with the names and the command."""
    require([*CONTROL_PLANE, *(NODE if nodes else ())])


def require_program(name: str) -> str:
    """The path of a program of EVERY, installed first if need be. Raises Failure as `require` does."""
    [package] = [package for package, proof in EVERY.items() if proof == name]
    require([package])
    found = shutil.which(name)
    assert found is not None
    return found


def require(packages: Iterable[str]) -> None:
    """Install those of EVERY's packages that are missing, or raise Failure with the names and the command."""
    packages = list(packages)
    missing = missing_of(packages)
    if not missing:
        return
    names = " ".join(missing)
    if os.geteuid() or not shutil.which("apt-get"):
        raise Failure(
            f"missing on this machine: {names} (names of Debian packages). "
            f"Install them as root: apt-get install --no-install-recommends {names}"
        )
    say(f"installing Debian packages: {names}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ("apt-get", "-q", "install", "--yes", "--no-install-recommends", *missing)
    try:
        run(*install, env=env)
    except Failure:
        say("apt-get update, because the package lists are missing or old")
        run("apt-get", "-q", "update", env=env)
        run(*install, env=env)
    if left := missing_of(packages):
        raise Failure(f"still missing after apt-get install: {' '.join(left)}")


def require_root(nodes: int) -> None:
    """Nodes need root and control groups; raise Failure that names the way without."""
    if not nodes:
        return
    if os.geteuid():
        raise Failure(
            "a node needs root (network namespaces, mounts, cgroups). Use --control-plane-only, or root"
        )
    if not cgroup_roots():
        raise Failure(
            "no cgroup file system under /sys/fs/cgroup: a kubelet cannot run here. Use --control-plane-only"
        )


def cgroup_roots() -> list[Path]:
    """Mount points of every cgroup hierarchy: one with version 2, several with version 1."""
    found = []
    for line in Path("/proc/mounts").read_text().splitlines():
        _, where, kind = line.split()[:3]
        if kind in ("cgroup", "cgroup2") and where.startswith("/sys/fs/cgroup"):
            found.append(Path(where))
    return found


def go_command() -> str:
    """The Go compiler: $MOORAGE_GO, else `go` on PATH. Raises Failure when it is absent or too old."""
    go = os.environ.get("MOORAGE_GO") or shutil.which("go")
    need = ".".join(map(str, GO_AT_LEAST))
    advice = (
        f"Run through ./dev, which fetches one, or set MOORAGE_GO to a go command of version {need} or newer"
    )
    if not go:
        raise Failure(f"no go command on PATH, and the cluster is compiled from Go modules. {advice}")
    # Asked from /, where no go.mod can select another toolchain.
    text = run(go, "version", cwd=Path("/"), env=go_environment())
    version = re.search(r"go(\d+)\.(\d+)", text)
    if not version or (int(version[1]), int(version[2])) < GO_AT_LEAST:
        raise Failure(f"{go} is too old ({text.strip()}). {advice}")
    return go
