"""A copy of the cluster's kubeconfig where a person wants it. Called by ``process.__main__``.

Never overwrites anything but a former copy: a kubeconfig of a person names clusters that exist once.
"""

from __future__ import annotations

import json
from pathlib import Path

from moorage.core.errors import Conflict
from moorage.embedded.cluster import EmbeddedCluster
from moorage.embedded.identity import write_private


def write_copy(cluster: EmbeddedCluster, path: Path) -> None:
    """Write it, mode 0600. Raises Conflict when another file is there."""
    if path.exists() and not _is_ours(path):
        raise Conflict(f"{path} is there already, and is no copy of ours", hint="name another --kubeconfig")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, cluster.kubeconfig.read_bytes())


def _is_ours(path: Path) -> bool:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    clusters = document.get("clusters") if isinstance(document, dict) else None
    return isinstance(clusters, list) and [each.get("name") for each in clusters] == ["embedded"]
