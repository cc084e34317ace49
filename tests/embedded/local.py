"""In place of the launcher's own cluster, for tests of what a kubeconfig cannot do: the embedded one.

Used by ``running.as_real``, for the fixture ``local_cluster``. Such tests ask containerd's client on a node
for images and processes; here the node is asked for the same, in the same words, and nothing else is
understood.
"""

from __future__ import annotations

import json
import os
import signal
import tarfile
from pathlib import Path
from typing import Any

from testcluster.cluster import Cluster, State
from testcluster.identity import authority
from testcluster.shell import Failure

from moorage.embedded.node import Image, LocalNode


class EmbeddedLocal(Cluster):
    """One node. ``folder`` is short and new: certificates of tests are made there."""

    def __init__(self, folder: Path, node: LocalNode, programs: Path) -> None:
        super().__init__(folder)
        self._node = node
        self.begin(State(bin=str(programs), nodes=1, kwok=0, net=0, ports={}))
        authority(self)

    @property
    def host(self) -> str:
        return "127.0.0.1"

    def ctr(self, node: int, *args: str) -> str:
        """The commands that tests use. Raises Failure for others."""
        match args:
            case ("tasks", "kill", "-s", "SIGKILL", container):
                os.kill(self._node.processes()[container], signal.SIGKILL)
                return ""
            case ("tasks", "ls"):
                return "\n".join(f"{name} {pid} RUNNING" for name, pid in self._node.processes().items())
            case ("images", "ls", "-q", wanted):
                reference = wanted.removeprefix("name==")
                return reference if self._node.images.find(reference) else ""
            case ("images", "tag", "--force", old, new):
                image = self._node.images.find(old)
                assert image is not None, old
                self._node.images.put(new, image)
                return new
            case ("images", "import", *_, archive):
                reference, image = load(Path(archive), self.dir / "images")
                self._node.images.put(reference, image)
                return f"unpacking {reference}"
        raise Failure(f"the embedded node has no containerd to ask: ctr {' '.join(args)}")


def load(archive: Path, folder: Path) -> tuple[str, Image]:
    """An OCI archive of one image as a folder; its reference and the image."""
    with tarfile.open(archive) as tar:

        def blob(digest: str) -> Any:
            file = tar.extractfile("blobs/" + digest.replace(":", "/"))
            assert file is not None
            return file

        index = tar.extractfile("index.json")
        assert index is not None
        [entry] = json.load(index)["manifests"]
        manifest = json.load(blob(entry["digest"]))
        config = json.load(blob(manifest["config"]["digest"]))["config"]
        root = folder / entry["digest"].partition(":")[2][:16]
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=blob(layer["digest"])) as files:
                files.extractall(root, filter="tar")
    return entry["annotations"]["io.containerd.image.name"], Image(
        root,
        entrypoint=tuple(config.get("Entrypoint") or ()),
        command=tuple(config.get("Cmd") or ()),
        env=dict(word.split("=", 1) for word in config.get("Env") or ()),
        user=config.get("User") or "",
    )
