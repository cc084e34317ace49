"""What a report may hold: credentials are masked wherever they stand, and what explains a fault is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.redaction import MASK, Redactor, pod_values

SECRETS = [
    "https://user:hunter2hunter2@git.example/a",
    "Authorization: Bearer abc.def.ghi",
    "basic dXNlcjpwYXNz",
    "GITHUB_TOKEN=hunter2hunter2",
    'password: "hunter2 hunter2"',
    "--api-key=hunter2hunter2",
    '{"secret": "hunter2hunter2"}',
    "aws_secret_access_key = hunter2hunter2",
    "ghp_0123456789abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
    "sk-hunter2hunter2hunter2",
    "-----BEGIN PRIVATE KEY-----\nhunter2hunter2\n-----END PRIVATE KEY-----",
    "-----BEGIN EC PRIVATE KEY-----\nhunter2hunter2",
    "x7Kq2LmN9pQrStUvWxYz1234",
]
GONE = ("hunter2", "abc.def", "dXNlcj", "ghp_0123", "AKIAIO", "eyJ", "x7Kq2")


@pytest.mark.parametrize("text", SECRETS)
def test_what_looks_like_a_credential_is_masked(text: str) -> None:
    shown = Redactor().text(f"before {text} after")
    assert MASK in shown
    assert not any(part in shown for part in GONE)
    assert shown.startswith("before ")


KEPT = [
    "Back-off restarting failed container agent in pod moorage-web-7f3a",
    "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available",
    "registry.example/agent@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "uid 1b4e28ba-2fa1-11d2-883f-0016d3cca427",
    "https://127.0.0.1:6443, Kubernetes v1.36.3",
    "exceeded quota: small, requested: requests.memory=64Gi, used: requests.memory=1Gi",
    "/home/Someone1/projects/.config/moorage/config.toml",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_explains_a_fault_is_kept(text: str) -> None:
    assert Redactor().text(text) == text


@given(st.text(alphabet="abcXYZ.*+?[](){}|\\ ", min_size=6, max_size=20), st.text(max_size=20))
def test_a_known_value_is_nowhere_in_a_text(value: str, around: str) -> None:
    assert value not in Redactor([value, value[:-1], "a"]).text(f"{around}{value}")


PLANT = "p1anted-cr3dential"


def planted() -> dict[str, Any]:
    """A Pod that holds one and the same word wherever a Pod can hold one."""
    probe = {
        "exec": {"command": ["check", PLANT]},
        "httpGet": {"port": 80, "httpHeaders": [{"name": "Auth", "value": PLANT}]},
    }
    container = {
        "name": "agent",
        "image": "registry.example/agent:1",
        "command": ["sh", "-c", PLANT],
        "args": [f"--token={PLANT}"],
        "workingDir": f"/{PLANT}",
        "env": [
            {"name": "TOKEN", "value": PLANT},
            {"name": "REF", "valueFrom": {"secretKeyRef": {"name": PLANT, "key": PLANT}}},
        ],
        "envFrom": [{"secretRef": {"name": PLANT}}],
        "livenessProbe": probe,
        "lifecycle": {"preStop": {"exec": {"command": [PLANT]}}},
        "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": PLANT}],
        "securityContext": {"runAsUser": 7, "seLinuxOptions": {"user": PLANT}},
        "somethingNew": {"deep": PLANT},
    }
    state = {"terminated": {"exitCode": 3, "reason": "Error", "message": PLANT, "containerID": PLANT}}
    return {
        "metadata": {
            "name": "moorage-a",
            "uid": "u",
            "annotations": {"last-applied": PLANT},
            "labels": {"moorage.dev/session-id": "abc", "note": PLANT},
            "managedFields": [{"manager": PLANT}],
        },
        "spec": {
            "nodeName": "n1",
            "containers": [container],
            "initContainers": [container],
            "imagePullSecrets": [{"name": PLANT}],
            "hostAliases": [{"hostnames": [PLANT]}],
            "nodeSelector": {"kubernetes.io/os": "linux", "pool": PLANT},
            "tolerations": [{"key": PLANT}],
            "volumes": [
                {"name": "data", "csi": {"driver": "d", "volumeAttributes": {"token": PLANT}}},
                {"name": "nfs", "nfs": {"server": PLANT, "path": PLANT}},
                {"name": "claim", "persistentVolumeClaim": {"claimName": "moorage-a"}},
            ],
        },
        "status": {
            "phase": "Failed",
            "message": f"could not do {PLANT}",
            "conditions": [{"type": "Ready", "status": "False", "message": f"because of {PLANT}"}],
            "containerStatuses": [
                {"name": "agent", "restartCount": 4, "state": state, "lastState": state, "containerID": PLANT}
            ],
        },
    }


def test_a_word_planted_everywhere_in_a_pod_is_nowhere_in_what_is_shown() -> None:
    pod = planted()
    shown = Redactor(pod_values(pod)).pod(pod)
    assert PLANT in json.dumps(pod)
    assert PLANT not in json.dumps(shown)


def test_names_numbers_and_reasons_of_a_pod_are_kept() -> None:
    pod = planted()
    shown = Redactor(pod_values(pod)).pod(pod)
    container, status = shown["spec"]["containers"][0], shown["status"]["containerStatuses"][0]
    assert (container["name"], container["image"], container["command"]) == (
        "agent",
        "registry.example/agent:1",
        3,
    )
    assert container["env"] == [
        {"name": "TOKEN", "from": ["value"]},
        {"name": "REF", "from": ["secretKeyRef"]},
    ]
    assert container["securityContext"] == {"runAsUser": 7}
    assert status["state"] == {"terminated": {"exitCode": 3, "reason": "Error", "message_length": len(PLANT)}}
    assert (status["restartCount"], shown["status"]["phase"]) == (4, "Failed")
    assert shown["status"]["message"] == f"could not do {MASK}"
    assert shown["metadata"]["labels"] == {"moorage.dev/session-id": "abc", "note": MASK}
    assert shown["spec"]["volumes"][2] == {
        "name": "claim",
        "kind": ["persistentVolumeClaim"],
        "claimName": "moorage-a",
    }


def test_a_pod_without_anything_is_no_fault() -> None:
    assert Redactor().pod({})["spec"]["containers"] == []
    assert list(pod_values({})) == []
