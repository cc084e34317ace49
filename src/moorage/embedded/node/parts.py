"""What all Pods of a node share. Made by ``node.local``, used by ``node.worker`` and its helpers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from moorage.core import owned
from moorage.core.kinds import PODS, Json
from moorage.embedded.node.decide import Backoff
from moorage.embedded.node.images import ImageTable
from moorage.embedded.seam import Objects


@dataclass(frozen=True)
class Timing:
    """Seconds. ``volumes``: until missing volumes and configuration are looked for again; ``refresh``: until
    running Pods' files are brought up to date."""

    backoff: Backoff = field(default_factory=Backoff)
    image: Backoff = field(default_factory=Backoff)
    volumes: float = 2.0
    refresh: float = 60.0


@dataclass(frozen=True)
class Parts:
    """``data``: the node's folder; ``memory``: a folder that a reboot empties; ``claims``: where volumes are;
    ``hidden``: what no container may see of the host; ``clock``: seconds since 1970."""

    name: str
    objects: Objects
    data: Path
    memory: Path
    claims: Path
    hidden: tuple[Path, ...]
    mode: str
    images: ImageTable
    timing: Timing
    clock: Callable[[], float]
    others: Callable[[str], list[Json]]
    """The Pods on this node but the one with that uid."""

    def pod_folder(self, uid: str) -> Path:
        return self.data / "pods" / uid

    def memory_folder(self, uid: str) -> Path:
        return self.memory / uid

    def event(self, pod: Json, type_: str, reason: str, message: str) -> None:
        self.objects.event(pod, type_, reason, message)

    def newest(self, pod: Json) -> Json | None:
        """The Pod as stored now; None when it is gone or is another by now."""
        metadata = pod["metadata"]
        found = self.objects.get(PODS, metadata.get("namespace", ""), metadata["name"])
        return found if found is not None and found["metadata"]["uid"] == metadata["uid"] else None


FORWARD_SOCKET = "forward.sock"
"""Where agentctl listens in place of its port, in the folder that is mounted at /run/moorage."""


def link_socket(pod: Json, volumes: dict[str, Path]) -> Path | None:
    """agentctl's socket in a Pod; None when no container has the folder for it."""
    for container in pod["spec"]["containers"]:
        for mount in container.get("volumeMounts") or []:
            if mount["mountPath"].rstrip("/") == owned.RUN_PATH and mount["name"] in volumes:
                return volumes[mount["name"]] / FORWARD_SOCKET
    return None
