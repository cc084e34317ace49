"""Images that only the scenarios need, written without a container tool and imported into the real node."""

from __future__ import annotations

import json
import tarfile
from importlib import resources
from pathlib import Path

from testcluster.cluster import Cluster
from testcluster.images import Image, write_image
from testcluster.node import ctr, import_image

HELPER = "localhost/moorage-helper"


def import_pinned(cluster: Cluster, image: Image, folder: Path) -> str:
    """Import an image into every node; its reference, pinned by digest. Repeatable."""
    archive = folder / "image.tar"
    write_image(archive, image)
    with tarfile.open(archive) as tar:
        index = tar.extractfile("index.json")
        assert index is not None
        digest = json.loads(index.read())["manifests"][0]["digest"]
    pinned = f"{image.ref.rpartition(':')[0]}@{digest}"
    nodes = range(1, cluster.state.nodes + 1)
    if not all(pinned in ctr(cluster, node, "images", "ls", "-q", f"name=={pinned}") for node in nodes):
        import_image(cluster, archive)
        for node in nodes:
            ctr(cluster, node, "images", "tag", "--force", image.ref, pinned)
    return pinned


def helper_image_ref(cluster: Cluster, folder: Path) -> str:
    """The helper image of this checkout on every node: nothing in it but /agentctl."""
    binary = Path(str(resources.files("moorage") / "_helper/amd64/agentctl"))
    return import_pinned(cluster, Image(f"{HELPER}:test", {"agentctl": binary}), folder)
