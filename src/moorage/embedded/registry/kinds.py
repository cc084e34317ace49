"""The resources the embedded API serves, one row each.

Read by the registry (semantics), the API (routes, discovery, tables) and the controllers. A kind that
needs no more than being stored, defaulted and checked is a row here and a paragraph in ``fields_table``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from moorage.core import kinds as core
from moorage.core.kinds import Resource


@dataclass(frozen=True)
class Kind:
    """One resource. ``fields``: its type in the table of fields; "" takes any object."""

    resource: Resource
    singular: str
    short: tuple[str, ...] = ()
    status: bool = False  # a status of its own, written through /status
    generation: bool = False  # metadata.generation counts changes of spec
    label_name: bool = False  # its name must be a DNS label
    path_name: bool = False  # its name is any path segment (RBAC)
    fields: str = ""
    selectable: tuple[str, ...] = ()  # fields a fieldSelector may name, besides name and namespace
    put_creates: bool = False  # an update of one that is not there makes it
    reviews: bool = False  # create only, nothing is stored
    custom: bool = False  # of a custom resource definition

    @property
    def key(self) -> str:
        return key(self.resource)

    @property
    def name(self) -> str:
        return self.resource.kind


def key(resource: Resource) -> str:
    """The name of a resource in the store, the same for all of its versions."""
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
LIMIT_RANGES = Resource("", "v1", "limitranges", "LimitRange")
POD_TEMPLATES = Resource("", "v1", "podtemplates", "PodTemplate")
SERVICES = Resource("", "v1", "services", "Service")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
NETWORK_POLICIES = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
_RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(_RBAC, "v1", "roles", "Role")
ROLE_BINDINGS = Resource(_RBAC, "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLES = Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
_AUTHORIZATION = "authorization.k8s.io"
RULES_REVIEWS = Resource(
    _AUTHORIZATION, "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", namespaced=False
)
SUBJECT_ACCESS = Resource(
    _AUTHORIZATION, "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)

BUILT_IN: tuple[Kind, ...] = (
    Kind(
        core.NAMESPACES,
        "namespace",
        ("ns",),
        status=True,
        label_name=True,
        fields="Namespace",
        selectable=("status.phase",),
    ),
    Kind(core.NODES, "node", ("no",), status=True, fields="Node", selectable=("spec.unschedulable",)),
    Kind(
        core.PODS,
        "pod",
        ("po",),
        status=True,
        generation=True,
        fields="Pod",
        selectable=(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ),
    ),
    Kind(core.CLAIMS, "persistentvolumeclaim", ("pvc",), status=True, fields="PersistentVolumeClaim"),
    Kind(VOLUMES, "persistentvolume", ("pv",), status=True, fields="PersistentVolume"),
    Kind(core.STORAGE_CLASSES, "storageclass", ("sc",), fields="StorageClass"),
    Kind(core.SECRETS, "secret", fields="Secret", selectable=("type",)),
    Kind(core.CONFIG_MAPS, "configmap", ("cm",), fields="ConfigMap"),
    Kind(core.SERVICE_ACCOUNTS, "serviceaccount", ("sa",), fields="ServiceAccount"),
    Kind(
        core.EVENTS,
        "event",
        ("ev",),
        fields="Event",
        put_creates=True,
        selectable=(
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ),
    ),
    Kind(core.LEASES, "lease", fields="Lease", put_creates=True),
    Kind(core.QUOTAS, "resourcequota", ("quota",), status=True, fields="ResourceQuota"),
    Kind(LIMIT_RANGES, "limitrange", ("limits",), fields="LimitRange", put_creates=True),
    Kind(POD_TEMPLATES, "podtemplate", generation=True, fields="PodTemplate"),
    Kind(SERVICES, "service", ("svc",), status=True, fields="Service", put_creates=True),
    Kind(core.RUNTIME_CLASSES, "runtimeclass", fields="RuntimeClass"),
    Kind(PRIORITY_CLASSES, "priorityclass", ("pc",), generation=True, fields="PriorityClass"),
    Kind(NETWORK_POLICIES, "networkpolicy", ("netpol",), generation=True, fields="NetworkPolicy"),
    Kind(ROLES, "role", path_name=True, fields="Role", put_creates=True),
    Kind(ROLE_BINDINGS, "rolebinding", path_name=True, fields="RoleBinding", put_creates=True),
    Kind(CLUSTER_ROLES, "clusterrole", path_name=True, fields="ClusterRole", put_creates=True),
    Kind(CLUSTER_ROLE_BINDINGS, "clusterrolebinding", path_name=True, fields="RoleBinding", put_creates=True),
    Kind(DEFINITIONS, "customresourcedefinition", ("crd", "crds"), status=True, generation=True),
    Kind(
        core.MUTATING_WEBHOOKS,
        "mutatingwebhookconfiguration",
        generation=True,
        fields="MutatingWebhookConfiguration",
    ),
    Kind(core.MUTATING_POLICIES, "mutatingadmissionpolicy", generation=True),
    Kind(core.ACCESS_REVIEWS, "selfsubjectaccessreview", reviews=True),
    Kind(RULES_REVIEWS, "selfsubjectrulesreview", reviews=True),
    Kind(SUBJECT_ACCESS, "subjectaccessreview", reviews=True),
    Kind(core.SUBJECT_REVIEWS, "selfsubjectreview", reviews=True),
)


class Kinds:
    """All kinds served now: the built-in ones and those of custom resource definitions."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        for kind in BUILT_IN:
            self.add(kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(list(self._by_path.values()))

    def add(self, kind: Kind) -> None:
        resource = kind.resource
        self._by_path[resource.group, resource.version, resource.plural] = kind

    def discard(self, group: str, plural: str) -> None:
        """Stop serving a custom resource, in all its versions."""
        for path in [path for path in self._by_path if (path[0], path[2]) == (group, plural)]:
            del self._by_path[path]

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._by_path.get((group, version, plural))

    def of(self, resource: Resource) -> Kind:
        """The kind of a resource known by name. KeyError when it is not served."""
        return self._by_path[resource.group, resource.version, resource.plural]

    def stored(self) -> list[Kind]:
        """Every kind that has objects, each once."""
        return list({kind.key: kind for kind in self._by_path.values() if not kind.reviews}.values())
