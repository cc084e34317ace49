"""What may be put into an object's metadata and into a Pod: good and bad values of each field.

Read by ``kinds.py`` and ``scripts.py``. ``NOTHING`` takes a field away.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Path = tuple[str | int, ...]
NOTHING: Any = "\0nothing"
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


def pod_spec() -> Json:
    return {
        "terminationGracePeriodSeconds": 5,
        "schedulerName": "nobody",
        "serviceAccountName": "default",
        "automountServiceAccountToken": False,
        "containers": [{"name": "main", "image": "localhost/none:1"}],
    }


_C = ("spec", "containers", 0)
POD_CHANGES: tuple[tuple[Path, tuple[Any, ...]], ...] = (
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


def claim_spec() -> Json:
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "none-such",
        "resources": {"requests": {"storage": "1Gi"}},
    }


def webhooks() -> Json:
    """One that no call of a test ever meets."""
    return {
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
    }
