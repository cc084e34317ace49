"""Programs of other Kubernetes versions than the cluster's own, compiled from pinned modules in versions/.

Called by tests that show that an older client (or server) works too. Each folder there is one Go module
with its own lock, so that a pin of one version never rebuilds another, nor the cluster's programs. Binaries
land in the cache folder NAME-KEY, by all that decides their content. It never writes into the checkout.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from .build import HERE, KUBERNETES
from .requirements import go_command
from .shell import Failure, cache_root, exclusive, go_environment, run, say

VERSIONS = HERE / "versions"


@dataclass(frozen=True)
class Other:
    """One program of another version: its folder under versions/, its package there, the version it tells."""

    module: str
    program: str
    version: str
    package: str = "."


CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
OLDEST = "1.32"
"""The oldest Kubernetes that is supported. The newest is the cluster's own, ``build.KUBERNETES``."""

OTHERS: dict[str, Other] = {
    "kubectl-1.32": Other("kubectl-1.32", "kubectl", "1.32.13"),
    **{
        f"{program}-{OLDEST}": Other(
            f"kubernetes-{OLDEST}", program, "1.32.13", f"k8s.io/kubernetes/cmd/{program}"
        )
        for program in CONTROL_PLANE
    },
}


def control_plane(version: str) -> dict[str, str]:
    """Path of each program of a control plane of that version, such as "1.32"; none for the cluster's own.

    Raises Failure for a version that is not pinned here.
    """
    if version in ("", KUBERNETES, KUBERNETES.rpartition(".")[0]):
        return {}
    if any(f"{program}-{version}" not in OTHERS for program in CONTROL_PLANE):
        raise Failure(f"no control plane of Kubernetes {version}: there are {OLDEST} and {KUBERNETES}")
    return {program: str(built(f"{program}-{version}")) for program in CONTROL_PLANE}


def key(name: str) -> str:
    """Hash of the pins, our own Go sources and the row in the table."""
    digest = hashlib.sha256(json.dumps(asdict(OTHERS[name])).encode())
    for path in sorted((VERSIONS / OTHERS[name].module).iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def built(name: str) -> Path:
    """The path of a program of OTHERS, compiled now if it is not in the cache; others wait for it.

    Raises Failure when Go or a module is missing.
    """
    other = OTHERS[name]
    path = cache_root() / f"{name}-{key(name)}" / other.program
    if path.exists():
        return path
    with exclusive(
        path.parent.with_suffix(f"{path.parent.suffix}.lock"),
        f"another process builds {name}; waiting for it",
    ):
        if not path.exists():
            began = time.monotonic()
            say(f"building {name}, minutes when nothing is cached")
            _compile(other, path)
            say(f"built {name} in {time.monotonic() - began:.1f} s")
    return path


def _compile(other: Other, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    env = {**go_environment(), "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    command = (go_command(), "build", "-trimpath", "-buildvcs=false", "-ldflags", _linked(other.version))
    run(*command, "-o", part, other.package, cwd=VERSIONS / other.module, env=env)
    part.rename(path)


def _linked(version: str) -> str:
    major, minor, _ = version.split(".")
    numbers = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    return "-s -w " + " ".join(f"-X k8s.io/component-base/version.{n}={v}" for n, v in numbers.items())
