"""Images that only the scenarios need, written without a container tool and imported into the real node."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from testcluster import node
from testcluster.cluster import Cluster
from testcluster.images import Image, write_image

HELPER = "localhost/moorage-helper"


def import_pinned(cluster: Cluster, image: Image, folder: Path) -> str:
    """Import an image into every node; its reference, pinned by digest. Repeatable."""
    archive = folder / "image.tar"
    write_image(archive, image)
    return node.import_pinned(cluster, archive, image.ref)


def helper_image_ref(cluster: Cluster, folder: Path) -> str:
    """The helper image of this checkout on every node: nothing in it but /agentctl."""
    binary = Path(str(resources.files("moorage") / "_helper/amd64/agentctl"))
    return import_pinned(cluster, Image(f"{HELPER}:test", {"agentctl": binary}), folder)
