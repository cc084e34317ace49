"""The kinds that random calls are about: where they live, a good object of each, what may be put into it.

Read by ``scripts.py``. A change is a path and the values that may stand there; ``NOTHING`` takes a field
away. Good and bad values stand side by side: which is which is the API server's to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .changes import AMOUNTS, NOTHING, POD_CHANGES, Json, Path, claim_spec, pod_spec, webhooks


@dataclass(frozen=True)
class Tried:
    """One kind. ``stored`` is False where the cluster's own parts would act on an object: dry runs only."""

    plural: str
    kind: str
    version: str
    body: Callable[[], Json]
    changes: tuple[tuple[Path, tuple[Any, ...]], ...] = ()
    namespaced: bool = True
    stored: bool = True
    status: bool = False
    alone: bool = False  # in a namespace of its own: admission of others reads it from a cache

    @property
    def root(self) -> str:
        return f"/api/{self.version}" if "/" not in self.version else f"/apis/{self.version}"

    def collection(self, namespace: str) -> str:
        return (
            f"{self.root}/namespaces/{namespace}/{self.plural}"
            if self.namespaced
            else f"{self.root}/{self.plural}"
        )


KINDS: tuple[Tried, ...] = (
    Tried(
        "configmaps",
        "ConfigMap",
        "v1",
        lambda: {"data": {"k": "v"}},
        (
            (
                ("data",),
                (
                    {"k": "w", "l": "x"},
                    {"bad key": "x"},
                    {"k": 1},
                    {"k": None},
                    "x",
                    {},
                    NOTHING,
                    {"..": "x"},
                ),
            ),
            (("binaryData",), ({"b": "aGk="}, {"b": "%"}, {"k": "aGk="}, {"b": "aGk"})),
            (("immutable",), (True, False, "true")),
        ),
    ),
    Tried(
        "secrets",
        "Secret",
        "v1",
        lambda: {"data": {"k": "aGk="}},
        (
            (("data",), ({"k": "aG8="}, {"k": "not base64"}, {"bad key": ""}, {"k": ""}, {})),
            (("stringData",), ({"s": "text"}, {"k": "over"}, {"bad key": "x"})),
            (
                ("type",),
                (
                    "example.com/any",
                    "kubernetes.io/tls",
                    "kubernetes.io/basic-auth",
                    "kubernetes.io/dockerconfigjson",
                    "kubernetes.io/ssh-auth",
                    "",
                    1,
                ),
            ),
            (("immutable",), (True, False)),
        ),
    ),
    Tried("pods", "Pod", "v1", lambda: {"spec": pod_spec()}, POD_CHANGES, status=True),
    Tried(
        "podtemplates",
        "PodTemplate",
        "v1",
        lambda: {"template": {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec()}},
        tuple((("template", *path), values) for path, values in POD_CHANGES if path[0] == "spec"),
    ),
    Tried(
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        "v1",
        lambda: {"spec": claim_spec()},
        (
            (
                ("spec", "accessModes"),
                (["ReadWriteMany"], [], ["Nonsense"], ["ReadWriteOncePod", "ReadWriteOnce"]),
            ),
            (("spec", "resources", "requests", "storage"), (*AMOUNTS, "2Gi", NOTHING)),
            (("spec", "storageClassName"), ("", "Bad_Name", "other", 1)),
            (("spec", "volumeMode"), ("Block", "Nonsense", "")),
            (("spec", "volumeName"), ("none-such", "Bad_Name")),
            (("spec", "selector"), ({"matchLabels": {"a": "b"}}, {"matchLabels": {"bad key": "b"}})),
            (
                ("spec", "dataSource"),
                ({"kind": "PersistentVolumeClaim", "name": "a"}, {"kind": "x", "name": "a"}),
            ),
            (("spec",), (NOTHING, None, {})),
            (("status",), ({"phase": "Bound"}, {"capacity": {"storage": "1Gi"}})),
        ),
        status=True,
    ),
    Tried(
        "serviceaccounts",
        "ServiceAccount",
        "v1",
        dict,
        (
            (("automountServiceAccountToken",), (False, True, "x")),
            (("imagePullSecrets",), ([{"name": "a"}], [{}], "x")),
            (("secrets",), ([{"name": "a"}], [{}])),
        ),
    ),
    Tried(
        "events",
        "Event",
        "v1",
        lambda: {
            "involvedObject": {"kind": "Pod", "namespace": "NAMESPACE", "name": "a"},
            "reason": "Tested",
            "message": "a message",
            "type": "Normal",
        },
        (
            (("involvedObject", "namespace"), ("elsewhere", NOTHING)),
            (("count",), (3, "3", 0)),
            (("lastTimestamp",), ("2026-01-01T00:00:00Z", "x", None)),
            (("eventTime",), ("2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00Z", None)),
            (("type",), ("Warning", "Strange", NOTHING)),
            (("reason",), ("", NOTHING)),
            (("source",), ({"component": "c", "host": "h"}, {})),
            (("series",), ({"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000001Z"},)),
            (("reportingComponent",), ("example.com/x",)),
        ),
    ),
    Tried(
        "leases",
        "Lease",
        "coordination.k8s.io/v1",
        lambda: {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 30}},
        (
            (("spec", "holderIdentity"), ("you", "", None, 1)),
            (("spec", "leaseDurationSeconds"), (0, -1, "30", 60)),
            (("spec", "renewTime"), ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00Z", "x")),
            (("spec", "leaseTransitions"), (-1, 0, 2)),
            (("spec",), (NOTHING, {}, None)),
        ),
    ),
    Tried(
        "resourcequotas",
        "ResourceQuota",
        "v1",
        lambda: {"spec": {"hard": {"count/endpoints": "100"}}},
        (
            (
                ("spec", "hard"),
                (*({"pods": amount} for amount in ("1000", "-1", "abc", 5, "0.5")), {"nonsense": "1"}, {}),
            ),
            (("spec", "scopes"), (["Terminating"], ["Nonsense"])),
            (("spec",), (NOTHING,)),
            (("status",), ({"hard": {"pods": "5"}},)),
        ),
        status=True,
        alone=True,
    ),
    Tried(
        "limitranges",
        "LimitRange",
        "v1",
        lambda: {"spec": {"limits": [{"type": "Container", "default": {"memory": "1Gi"}}]}},
        (
            (("spec", "limits", 0, "default"), ({"memory": "x"}, {"cpu": "1", "memory": "2Gi"}, {})),
            (("spec", "limits", 0, "type"), ("Pod", "Nonsense", NOTHING)),
            (("spec", "limits", 0, "max"), ({"memory": "1Mi"}, {"memory": "4Gi"})),
            (("spec", "limits", 0, "min"), ({"memory": "3Gi"}, {"cpu": "1m"})),
            (("spec",), (NOTHING, {"limits": []})),
        ),
        alone=True,
    ),
    Tried(
        "services",
        "Service",
        "v1",
        lambda: {"spec": {"selector": {"app": "x"}, "ports": [{"port": 80}], "clusterIP": "None"}},
        (
            (("spec", "ports"), ([{"port": 80, "targetPort": "web"}], [{"port": "80"}], "x")),
            (("spec", "selector"), ({"app": "y"}, "x")),
        ),
    ),
    Tried(
        "networkpolicies",
        "NetworkPolicy",
        "networking.k8s.io/v1",
        lambda: {"spec": {"podSelector": {"matchLabels": {"a": "b"}}, "policyTypes": ["Egress"]}},
        (
            (("spec", "policyTypes"), (["Ingress", "Egress"], ["Nonsense"], NOTHING, [])),
            (
                ("spec", "podSelector"),
                (
                    {},
                    {"matchLabels": {"bad key": "x"}},
                    NOTHING,
                    {"matchExpressions": [{"key": "a", "operator": "In"}]},
                ),
            ),
            (
                ("spec", "egress"),
                (
                    [{}],
                    [{"ports": [{"port": 53, "protocol": "UDP"}]}],
                    [{"ports": [{"port": 0}]}],
                    [{"ports": [{"port": "dns"}]}],
                    [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
                    [{"to": [{"ipBlock": {"cidr": "nonsense"}}]}],
                    [{"to": [{}]}],
                    [{"to": [{"namespaceSelector": {}}]}],
                ),
            ),
            (("spec", "ingress"), ([], [{"from": []}])),
            (("spec",), (NOTHING, {})),
        ),
    ),
    Tried(
        "roles",
        "Role",
        "rbac.authorization.k8s.io/v1",
        lambda: {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
        (
            (("rules", 0, "verbs"), ([], NOTHING, ["*"], "get")),
            (("rules", 0, "resources"), ([], ["pods/log"])),
            (("rules", 0, "apiGroups"), ([], NOTHING)),
            (("rules", 0, "nonResourceURLs"), (["/x"],)),
            (("rules",), ([], NOTHING, None)),
        ),
    ),
    Tried(
        "rolebindings",
        "RoleBinding",
        "rbac.authorization.k8s.io/v1",
        lambda: {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
            "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}],
        },
        (
            (("roleRef", "name"), ("b", "", NOTHING)),
            (("roleRef", "kind"), ("Nonsense", "ClusterRole")),
            (
                ("subjects",),
                (
                    [{"kind": "User", "name": "u"}],
                    [{"kind": "Nonsense", "name": "u"}],
                    [{"kind": "ServiceAccount", "name": "s"}],
                    [],
                ),
            ),
            (("roleRef",), (NOTHING,)),
        ),
    ),
    Tried(
        "persistentvolumes",
        "PersistentVolume",
        "v1",
        lambda: {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "fidelity",
                "hostPath": {"path": "/nowhere"},
            }
        },
        (
            (("spec", "capacity"), ({"storage": "2Gi"}, {"storage": "x"}, "x")),
            (("spec", "accessModes"), (["ReadOnlyMany"], "x")),
            (("spec", "persistentVolumeReclaimPolicy"), ("Delete", 1)),
        ),
        namespaced=False,
    ),
    Tried(
        "storageclasses",
        "StorageClass",
        "storage.k8s.io/v1",
        lambda: {"provisioner": "example.com/none"},
        (
            (("provisioner",), ("Bad Name", "", NOTHING, "example.com/other")),
            (("volumeBindingMode",), ("WaitForFirstConsumer", "Nonsense")),
            (("reclaimPolicy",), ("Retain", "Nonsense")),
            (("parameters",), ({"a": "b"}, {"a": 1})),
            (("allowVolumeExpansion",), (True, False)),
            (("mountOptions",), (["ro"],)),
        ),
        namespaced=False,
    ),
    Tried(
        "runtimeclasses",
        "RuntimeClass",
        "node.k8s.io/v1",
        lambda: {"handler": "none"},
        (
            (("handler",), ("Bad_Handler", "", NOTHING, "other")),
            (("overhead",), ({"podFixed": {"memory": "1Mi"}}, {"podFixed": {"memory": "x"}})),
            (("scheduling",), ({"nodeSelector": {"a": "b"}},)),
        ),
        namespaced=False,
    ),
    Tried(
        "priorityclasses",
        "PriorityClass",
        "scheduling.k8s.io/v1",
        lambda: {"value": 5},
        (
            (("value",), (7, 2000000000, "5", NOTHING)),
            (("preemptionPolicy",), ("Never", "Nonsense")),
            (("description",), ("words",)),
        ),
        namespaced=False,
    ),
    Tried(
        "clusterroles",
        "ClusterRole",
        "rbac.authorization.k8s.io/v1",
        lambda: {"rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]},
        (
            (("rules", 0, "verbs"), ([], ["*"])),
            (("rules", 0, "resources"), (["pods"],)),
            (("aggregationRule",), ({"clusterRoleSelectors": [{"matchLabels": {"bad key": "x"}}]},)),
        ),
        namespaced=False,
    ),
    Tried(
        "clusterrolebindings",
        "ClusterRoleBinding",
        "rbac.authorization.k8s.io/v1",
        lambda: {
            "roleRef": {"kind": "ClusterRole", "name": "none-such", "apiGroup": "rbac.authorization.k8s.io"}
        },
        (
            (("roleRef", "kind"), ("Role", "")),
            (("subjects",), ([{"kind": "Group", "name": "g"}], [{"kind": "User"}])),
        ),
        namespaced=False,
    ),
    Tried("namespaces", "Namespace", "v1", dict, namespaced=False, stored=False, status=True),
    Tried(
        "nodes",
        "Node",
        "v1",
        dict,
        (
            (("spec", "unschedulable"), (True, "x")),
            (("spec", "taints"), ([{"key": "a", "effect": "NoSchedule"}], "x")),
        ),
        namespaced=False,
        stored=False,
        status=True,
    ),
    Tried(
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        "admissionregistration.k8s.io/v1",
        webhooks,
        (
            (("webhooks", 0, "failurePolicy"), ("Ignore", 1)),
            (("webhooks", 0, "timeoutSeconds"), (5, "x")),
            (("webhooks", 0, "clientConfig"), ({"url": "https://x"},)),
            (("webhooks",), ([], NOTHING)),
        ),
        namespaced=False,
    ),
)
BY_PLURAL = {tried.plural: tried for tried in KINDS}
