"""The Kubernetes adapter: configuration, credentials, transport, watches, streams."""

from moorage.kube.client import KubeCluster
from moorage.kube.connection import connect, connect_in_cluster

__all__ = ["KubeCluster", "connect", "connect_in_cluster"]
