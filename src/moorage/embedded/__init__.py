"""A Kubernetes API with one node that runs processes: for tests, and for a person without a cluster."""

from moorage.embedded.cluster import EmbeddedCluster

__all__ = ["EmbeddedCluster"]
