"""The Kubernetes resources Moorage speaks of, and the shape of a raw object."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON: what the API server sent, unknown fields kept."""


class Resource(NamedTuple):
    """One resource type; ``path`` builds its URL path."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str = "") -> str:
        """URL path, e.g. ``/api/v1/namespaces/ns/pods/name/exec``. Parts are already valid names."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace is not None and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part]
        return "/".join(parts)


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
EVENTS = Resource("", "v1", "events", "Event")
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
SUBJECT_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)
MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
MUTATING_POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingadmissionpolicies",
    "MutatingAdmissionPolicy",
    namespaced=False,
)
