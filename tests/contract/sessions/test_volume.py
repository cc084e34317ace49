"""The workspace outlives its Pod; what does not is refused, and what is removed keeps its history."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from testcluster.audit import Judge

from .commands import Moorage
from .conftest import Template
from .observed import Objects, pod_name

pytestmark = pytest.mark.node

FILL = (
    "[ -d d ] || { mkdir -m 750 d; head -c 3000000 /dev/urandom > d/f; chmod 640 d/f; ln -s f d/link; }; "
    "echo started; exec testagent wait"
)


def detached(moorage: Moorage, template: Template, *flags: str) -> str:
    """A session `w` whose agent has filled the workspace; the name of its Pod."""
    moorage(*moorage.run_args("-d", "--name", "w", *flags, template=template(), command=["sh", "-c", FILL]))
    moorage.start("attach", "w").until(b"started\n")
    return pod_name(moorage, "w")


def test_pause_keeps_only_the_claim_and_resume_finds_every_byte(
    moorage: Moorage, template: Template, objects: Objects, audit: Judge
) -> None:
    pod = detached(moorage, template)
    session = moorage.session("w")
    claim, claim_uid = session["workspace"]["claim"], session["workspace"]["claim_uid"]
    tree = objects.tree(pod)
    assert "./d/f 640" in tree

    moorage("pause", "w")
    assert objects.names() == [f"persistentvolumeclaim/{claim}"]
    paused = moorage.session("w")
    assert (paused["status"], paused["phase"]) == ("Paused", "preserved")
    moorage("pause", "w")  # again: nothing to do
    moorage("resume", "w")
    assert objects.tree(pod) == tree
    moorage("reset", "w")
    assert objects.tree(pod) == tree
    assert objects.claim(claim)["metadata"]["uid"] == claim_uid

    created = audit.writes(agent="moorage", namespace=objects.namespace, resource="pods")
    uids = [event.uid for event in created if event.verb == "create" and not event.subresource]
    deleted = [event.preconditions.get("uid") for event in created if event.verb == "delete"]
    assert len(set(uids)) == 3
    assert deleted == uids[:2]

    moorage("archive", "-y", "w")
    assert objects.names() == []
    assert moorage("logs", "w").out == b"started\n" * 3
    refused = moorage("resume", "w", code=None)
    assert (refused.code, "archived" in refused.err) == (5, True)
    moorage("rm", "-y", "w")
    assert moorage("logs", "w", code=None).code == 3


def test_an_empty_dir_is_paused_only_by_who_agrees_to_lose_it(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    pod = detached(moorage, template, "--workspace", "empty_dir")
    uid = objects.pod(pod)["metadata"]["uid"]
    for verb in ("pause", "reset"):
        refused = moorage(verb, "w", code=2)
        assert "--discard-workspace" in refused.err
    assert objects.pod(pod)["metadata"]["uid"] == uid
    assert moorage.session("w")["status"] == "Running"

    moorage("pause", "--discard-workspace", "w")
    assert objects.names() == []
    assert moorage.session("w")["status"] == "Paused"
    moorage("resume", "w")
    moorage("stop", "w")
    assert moorage("logs", "w").out == b"started\n" * 2
    objects.kubectl("delete", "pod", pod)
    assert moorage("logs", "w").out == b"started\n" * 2  # also without its Pod
    moorage("rm", "-y", "w")


def test_a_claim_that_was_there_before_us_is_used_and_never_deleted(
    moorage: Moorage, template: Template, objects: Objects, kubectl: Callable[..., str]
) -> None:
    claim: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "mine", "namespace": objects.namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    kubectl("apply", "-f", "-", stdin=json.dumps(claim))
    pod = detached(moorage, template, "--claim", "mine")
    tree = objects.tree(pod)
    before = objects.claim("mine")
    moorage("rm", "-y", "w")
    assert objects.names() == ["persistentvolumeclaim/mine"]
    after = objects.claim("mine")
    assert (after["metadata"]["uid"], after["metadata"].get("labels")) == (before["metadata"]["uid"], None)

    pod = detached(moorage, template, "--claim", "mine")
    assert objects.tree(pod) == tree
    moorage("rm", "--force", "w")
    assert objects.names() == ["persistentvolumeclaim/mine"]
