"""The Kubernetes adapter: configuration, credentials, transport, watches, streams.

The names below are imported on use: completion reads ``kube.kubeconfig`` and has no time for the transport.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.kube.client import KubeCluster
    from moorage.kube.connection import connect, connect_in_cluster

__all__ = ["KubeCluster", "connect", "connect_in_cluster"]


def __getattr__(name: str) -> Any:
    if name == "KubeCluster":
        from moorage.kube.client import KubeCluster

        return KubeCluster
    if name in ("connect", "connect_in_cluster"):
        from moorage.kube import connection

        return getattr(connection, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
