"""What admission took from, or made of, the author's words is named by its path; what it added is not."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from moorage.core.admitted import author_changes
from moorage.core.kinds import Json

SENT: Json = {
    "metadata": {"labels": {"team": "blue"}, "annotations": {}},
    "spec": {
        "shareProcessNamespace": False,
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "initContainers": [{"name": "mesh", "image": "mesh:1", "restartPolicy": "Always"}],
        "containers": [
            {"name": "agent", "image": "a:1", "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}}},
            {
                "name": "side",
                "image": "s:1",
                "args": ["-x"],
                "env": [{"name": "A", "value": ""}, {"name": "B", "value": "b"}],
                "ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}],
            },
        ],
    },
}


def side(pod: Json) -> Any:
    return pod["spec"]["containers"][-1]


TAKEN: dict[str, tuple[Callable[[Json], object], str]] = {
    "case 151: a field of a native sidecar": (
        lambda pod: pod["spec"]["initContainers"][0].pop("restartPolicy"),
        "spec.initContainers[mesh].restartPolicy",
    ),
    "case 151: every init container": (lambda pod: pod["spec"].pop("initContainers"), "spec.initContainers"),
    "case 151: one variable": (lambda pod: side(pod)["env"].pop(), "spec.containers[side].env[B]"),
    "case 151: one of two ports of a number": (
        lambda pod: side(pod)["ports"].pop(),
        "spec.containers[side].ports",
    ),
    "case 151: a toleration": (lambda pod: pod["spec"].pop("tolerations"), "spec.tolerations"),
    "case 154: a label": (lambda pod: pod["metadata"]["labels"].clear(), "metadata.labels.team"),
    "another image": (lambda pod: side(pod).update(image="s@sha256:0"), "spec.containers[side].image"),
    "other arguments": (lambda pod: side(pod)["args"].insert(0, "-y"), "spec.containers[side].args"),
    "less memory": (
        lambda pod: pod["spec"]["containers"][0]["resources"]["limits"].update(memory="1G"),
        "spec.containers[agent].resources.limits.memory",
    ),
}


@pytest.mark.parametrize(("take", "path"), TAKEN.values(), ids=TAKEN.keys())
def test_what_admission_takes_or_changes_is_named(take: Callable[[Json], object], path: str) -> None:
    admitted = deepcopy(SENT)
    take(admitted)
    assert author_changes(SENT, admitted) == (path,)


def test_what_a_server_adds_leaves_out_or_writes_otherwise_is_no_change() -> None:
    admitted = deepcopy(SENT)
    admitted["metadata"] = {"labels": {"team": "blue", "mesh": "on"}, "uid": "u"}
    spec = admitted["spec"]
    del spec["shareProcessNamespace"], side(admitted)["env"][0]["value"]
    spec["nodeName"] = "n"
    spec["containers"].insert(0, {"name": "put-first", "image": "m:1"})
    spec["containers"][1]["resources"] = {
        "limits": {"cpu": "500m", "memory": "1Gi"},
        "requests": {"cpu": "1m"},
    }
    spec["tolerations"].append({"key": "node.kubernetes.io/not-ready", "operator": "Exists"})
    assert author_changes(SENT, admitted) == ()
