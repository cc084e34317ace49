"""The kinds that random calls are about: where they live, a good object of each, what may be put into it.

Read by ``scripts.py``. A change is a path and the values that may stand there; ``NOTHING`` takes a field
away. Good and bad values stand side by side: which is which is the API server's to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Path = tuple[str | int, ...]
NOTHING: Any = "\0nothing"


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


LONG, LONGER = "x" * 64, "y" * 254
AMOUNTS = ("1", "1Gi", "1024Mi", "0.5", "-1", "1Zi", "abc", "", 1, 1.5, "1e3", "100m", True, "0")
METADATA: tuple[tuple[Path, tuple[Any, ...]], ...] = (
    (
        ("metadata", "labels"),
        (
            {"app": "x"},
            {"app": "y", "tier": "z"},
            {"bad key": "x"},
            {"app": "bad value!"},
            {LONG: "x"},
            {"app": LONG},
            {"example.com/app": ""},
            {"EXAMPLE.com/app": "x"},
            {"/app": "x"},
            {"app": 1},
            {"app": None},
            {},
            ["app"],
        ),
    ),
    (
        ("metadata", "annotations"),
        ({"note": "any text: ü\n"}, {"bad key": "x"}, {"a/b/c": "x"}, {"note": 1}, {"note": "z" * 1000}),
    ),
    (
        ("metadata", "finalizers"),
        (
            ["example.com/hold"],
            ["example.com/hold", "example.com/more"],
            ["nonsense"],
            [""],
            "example.com/hold",
            [],
        ),
    ),
    (
        ("metadata", "name"),
        ("Upper", LONGER, "a.b", "-a", "a_b", "", 1, NOTHING, "a/b", "ü"),
    ),
    (("metadata", "generateName"), ("made-", "Made-", "")),
    (("metadata", "namespace"), ("elsewhere", "", 7)),
    (("metadata", "resourceVersion"), ("1", "0", "nonsense", "")),
    (("metadata", "uid"), ("11111111-1111-1111-1111-111111111111",)),
    (("metadata", "creationTimestamp"), ("2020-01-01T00:00:00Z", "yesterday", None)),
    (("metadata", "generation"), (7, "7")),
    (("metadata", "nonsense"), ("x", None)),
    (
        ("metadata", "ownerReferences"),
        ([{"apiVersion": "v1", "kind": "Pod", "name": "a"}], [{}], "x"),
    ),
    (("metadata",), (None, "x", [])),
    (("apiVersion",), ("v2", "apps/v1", "", NOTHING, 1)),
    (("kind",), ("Nonsense", "Pod", "", NOTHING)),
    (("nonsense",), ("x", {"a": [1]}, None)),
    (("spec", "nonsense"), (1,)),
    (("status",), ({"phase": "Running"}, {"nonsense": 1}, None)),
)


def _pod() -> Json:
    return {
        "terminationGracePeriodSeconds": 5,
        "schedulerName": "nobody",
        "serviceAccountName": "default",
        "automountServiceAccountToken": False,
        "containers": [{"name": "main", "image": "localhost/none:1"}],
    }


_C = ("spec", "containers", 0)
_POD_CHANGES: tuple[tuple[Path, tuple[Any, ...]], ...] = (
    ((*_C, "image"), ("localhost/other:2", "", " x ", NOTHING, 1, "x@sha256:00", "latest")),
    ((*_C, "name"), ("other", "Main", "", LONG, NOTHING)),
    ((*_C, "command"), (["sh", "-c", "true"], "sh", [], [1])),
    ((*_C, "imagePullPolicy"), ("Never", "Nonsense", "")),
    (
        (*_C, "resources"),
        (
            *({"requests": {"memory": amount}} for amount in AMOUNTS),
            {"limits": {"cpu": "1", "memory": "1Gi"}},
            {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}},
            {"requests": {"nonsense": "1"}},
            {"requests": {"example.com/gpu": "1"}},
            {"limits": {"example.com/gpu": "1"}},
            {},
        ),
    ),
    (
        (*_C, "env"),
        (
            [{"name": "A", "value": "1"}],
            [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
            [{"name": "A=B", "value": "1"}],
            [{"value": "1"}],
            [{"name": "A", "value": 1}],
            [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "nonsense"}}}],
            [{"name": "A", "valueFrom": {}}],
            [{"name": "A", "value": "1", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}],
        ),
    ),
    (
        (*_C, "ports"),
        (
            [{"containerPort": 80}],
            [{"containerPort": 0}],
            [{"containerPort": 65536}],
            [{"containerPort": 80, "name": "web"}, {"containerPort": 81, "name": "web"}],
            [{"containerPort": 80, "protocol": "XTP"}],
            [{"containerPort": "80"}],
        ),
    ),
    (
        (*_C, "volumeMounts"),
        (
            [{"name": "none", "mountPath": "/x"}],
            [{"name": "v", "mountPath": ""}],
            [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}],
        ),
    ),
    (
        ("spec", "volumes"),
        (
            [{"name": "v", "emptyDir": {}}],
            [{"name": "v"}],
            [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}],
            [{"name": "V", "emptyDir": {}}],
            [{"name": "v", "configMap": {"name": "a"}}],
            [{"name": "v", "secret": {"secretName": "a", "defaultMode": 511}}],
            [{"name": "v", "secret": {"secretName": "a", "defaultMode": 512}}],
            [{"name": "v", "emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}}],
            [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}],
            [{"name": "v", "persistentVolumeClaim": {"claimName": ""}}],
        ),
    ),
    (
        (*_C, "securityContext"),
        (
            {"runAsUser": 1000, "runAsNonRoot": True},
            {"runAsUser": -1},
            {"privileged": True, "allowPrivilegeEscalation": False},
            {"capabilities": {"drop": ["ALL"]}},
            {"seccompProfile": {"type": "Nonsense"}},
        ),
    ),
    (
        (*_C, "livenessProbe"),
        (
            {"exec": {"command": ["true"]}},
            {},
            {"exec": {"command": []}},
            {"httpGet": {"port": 80}},
            {"httpGet": {"port": "web"}},
            {"tcpSocket": {"port": 0}},
            {"exec": {"command": ["x"]}, "periodSeconds": -1},
        ),
    ),
    (
        ("spec", "initContainers"),
        (
            [{"name": "init", "image": "i"}],
            [{"name": "main", "image": "i"}],
            [{"name": "side", "image": "i", "restartPolicy": "Always"}],
            [{"name": "side", "image": "i", "restartPolicy": "Sometimes"}],
        ),
    ),
    (
        ("spec", "containers"),
        ([], NOTHING, None, {}, [{"name": "main", "image": "i"}, {"name": "main", "image": "i"}]),
    ),
    (("spec", "restartPolicy"), ("Never", "OnFailure", "Sometimes", "")),
    (("spec", "terminationGracePeriodSeconds"), (0, -1, 60, "5", 5.5)),
    (("spec", "activeDeadlineSeconds"), (10, 0, -1)),
    (("spec", "schedulingGates"), ([{"name": "example.com/gate"}], [{"name": "bad gate"}], [{}])),
    (("spec", "nodeSelector"), ({"a": "b"}, {"bad key": "x"}, {"a": "bad value!"})),
    (
        ("spec", "tolerations"),
        (
            [{"key": "a", "operator": "Exists"}],
            [{"operator": "Equal", "value": "x"}],
            [{"key": "a", "operator": "Nonsense"}],
            [{"key": "a", "operator": "Exists", "tolerationSeconds": 5}],
        ),
    ),
    (("spec", "runtimeClassName"), ("none-such", "Bad_Name")),
    (("spec", "priorityClassName"), ("none-such", "system-node-critical")),
    (("spec", "serviceAccountName"), ("none-such",)),
    (("spec", "nodeName"), ("nowhere", "No_Where")),
    (("spec", "hostNetwork"), (True, "true")),
    (("spec", "dnsPolicy"), ("Default", "Nonsense")),
    (("spec", "hostname"), ("a", "A_b")),
    (("spec", "securityContext"), ({"runAsUser": 1000, "fsGroup": 2000}, {"fsGroup": -1}, {"sysctls": [{}]})),
    (("spec", "affinity"), ({}, {"nodeAffinity": {}}, {"podAffinity": "x"})),
    (
        ("spec", "topologySpreadConstraints"),
        ([{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}],),
    ),
    (("spec", "imagePullSecrets"), ([{"name": "a"}], [{}])),
    (("spec",), (NOTHING, None, "x", {})),
    (
        ("status",),
        (
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            {"phase": "Succeeded"},
            {"podIP": "10.0.0.1"},
            {"conditions": [{"type": "Ready", "status": "False"}, {"type": "x", "status": "True"}]},
        ),
    ),
)


def _claim() -> Json:
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "none-such",
        "resources": {"requests": {"storage": "1Gi"}},
    }


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
    Tried("pods", "Pod", "v1", lambda: {"spec": _pod()}, _POD_CHANGES, status=True),
    Tried(
        "podtemplates",
        "PodTemplate",
        "v1",
        lambda: {"template": {"metadata": {"labels": {"a": "b"}}, "spec": _pod()}},
        tuple((("template", *path), values) for path, values in _POD_CHANGES if path[0] == "spec"),
    ),
    Tried(
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        "v1",
        lambda: {"spec": _claim()},
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
        lambda: {
            "webhooks": [
                {
                    "name": "a.example.com",
                    "clientConfig": {"url": "https://127.0.0.1:1/x"},
                    "rules": [
                        {
                            "apiGroups": ["none.example.com"],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["nothings"],
                        }
                    ],
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                }
            ]
        },
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
