"""How a session is reached where port-forward is not allowed: found out once, then remembered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from testcluster.audit import Judge

from .commands import Moorage
from .conftest import Template

pytestmark = pytest.mark.node
WITHOUT_FORWARD: list[dict[str, Any]] = [
    {"apiGroups": [""], "resources": ["pods", "persistentvolumeclaims"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
]


def tried(audit: Judge, namespace: str, way: str) -> int:
    return len([event for event in audit.events(namespace=namespace) if event.subresource == way])


def test_a_start_after_the_first_makes_no_attempt_that_is_known_to_be_denied(
    moorage: Moorage,
    template: Template,
    namespace: str,
    audit: Judge,
    limited_user: Callable[[list[dict[str, Any]]], Path],
) -> None:
    everything, moorage.kubeconfig = moorage.kubeconfig, limited_user(WITHOUT_FORWARD)
    pod = template()
    first = moorage(*moorage.run_args("--name", "first", template=pod, command=["echo", "one"]))
    assert first.out == b"one\n"
    assert tried(audit, namespace, "portforward") > 0

    audit.forget()
    second = moorage(*moorage.run_args("--name", "second", template=pod, command=["echo", "two"]))
    assert second.out == b"two\n"
    assert moorage("exec", "second", "--", "echo", "beside").out == b"beside\n"
    assert tried(audit, namespace, "portforward") == 0
    assert tried(audit, namespace, "exec") > 0

    # Another runtime class may be reached in another way, so nothing is taken over from this one.
    other = template(spec={"runtimeClassName": "runc"}, name="other.yaml")
    moorage(*moorage.run_args("--name", "third", template=other, command=["true"]))
    assert tried(audit, namespace, "portforward") > 0

    # What a person names is used, whatever is remembered.
    audit.forget()
    moorage.kubeconfig = everything
    named = moorage.run_args("--name", "fourth", "--transport", "portforward", template=pod, command=["true"])
    moorage(*named)
    assert tried(audit, namespace, "portforward") > 0
    for name in ("first", "second", "third", "fourth"):
        moorage("rm", "-y", name)


@pytest.mark.parametrize(
    "impostor",
    [
        "while :; do echo nonsense | nc -l -p 8765 >/dev/null; done",
        "while :; do nc -l -p 8765; done </dev/zero",
    ],
    ids=["speaks", "floods"],
)
def test_a_sidecar_that_took_agentctls_port_does_not_keep_the_session_from_its_agent(
    moorage: Moorage, template: Template, impostor: str
) -> None:
    sidecar = {
        "name": "impostor",
        "image": "localhost/busybox:test",
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", impostor],
        # Ready, and so the main container started, only once the port is taken.
        "restartPolicy": "Always",
        "startupProbe": {
            "exec": {"command": ["grep", "-q", ":223D ", "/proc/net/tcp", "/proc/net/tcp6"]},
            "periodSeconds": 1,
        },
    }
    pod = template(spec={"initContainers": [sidecar]})
    done = moorage(*moorage.run_args("--name", "beside", template=pod, command=["echo", "reached"]))
    assert done.out == b"reached\n"
    moorage("rm", "-y", "beside")
