"""A Kubernetes API with one node that runs processes: for tests, and for a person without a cluster.

``EmbeddedCluster`` is loaded when somebody asks for it: commands that only look for the cluster's process
(``embedded.process``) do without the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.embedded.cluster import EmbeddedCluster

__all__ = ["EmbeddedCluster"]


def __getattr__(name: str) -> Any:
    if name == "EmbeddedCluster":
        from moorage.embedded.cluster import EmbeddedCluster

        return EmbeddedCluster
    raise AttributeError(name)
