"""CREATE and ADMISSION knobs, at the wire: what was stored, and what the client is told."""

from __future__ import annotations

import random
from typing import Any

import pytest

from moorage import kube
from moorage.core.errors import ApiError
from moorage.core.kinds import PODS
from moorage.embedded import EmbeddedCluster
from tests.faults import admission, create
from tests.faults.knob import Armed
from tests.faults.table import KNOBS

MAIN = {"name": "main", "image": "localhost/none:1", "command": ["sleep"]}
POD: dict[str, Any] = {
    "metadata": {"name": "p", "annotations": {"moorage.dev/create-nonce": "n"}},
    "spec": {"containers": [MAIN]},
}
SAID = {
    "commit_then_drop": ("transport", 0, ""),
    "commit_then_slow": ("transport", 0, ""),
    "drop_before": ("transport", 0, ""),
    "409_AlreadyExists": ("status", 409, "AlreadyExists"),
    "409_Conflict": ("status", 409, "Conflict"),
    "409_quota_modified": ("status", 409, "Conflict"),
    "403_quota": ("status", 403, "Forbidden"),
    "403_psa": ("status", 403, "Forbidden"),
    "403_rbac": ("status", 403, "Forbidden"),
    "403_ns_terminating": ("status", 403, "Forbidden"),
    "422_field": ("status", 422, "Invalid"),
    "500_webhook_timeout": ("status", 500, "InternalError"),
    "413_html": ("http", 413, ""),
}
"""What kind of problem the client has, its code and its reason."""
STORED = ("commit_then_drop", "commit_then_slow")


@pytest.mark.parametrize("name", SAID)
async def test_a_create_is_answered_as_its_knob_says(
    name: str, here: EmbeddedCluster, armed: Armed, client: kube.KubeCluster
) -> None:
    armed.verb = "story"
    armed.arm(KNOBS[name], random.Random(1))
    with pytest.raises(ApiError) as told:
        await client.create(PODS, POD)
    problem = told.value.problem
    kind, code, reason = SAID[name]
    assert (problem.http_status, problem.kind == "transport") == (code, kind == "transport")
    assert not reason or problem.reason == reason
    assert (here.objects().get(PODS, "default", "p") is not None) == (name in STORED)
    assert dict(armed.fired) == {("story", "create pods", name): 1}
    armed.calm()
    if name not in STORED:
        assert (await client.create(PODS, POD))["metadata"]["uid"]


async def test_a_busy_server_is_asked_again_after_the_time_it_names(
    armed: Armed, client: kube.KubeCluster
) -> None:
    armed.arm(KNOBS["429"], random.Random(1))
    assert (await client.create(PODS, POD))["metadata"]["uid"]
    assert armed.fired.total() == 1


async def test_a_deletion_may_be_carried_out_without_a_word(
    here: EmbeddedCluster, armed: Armed, client: kube.KubeCluster
) -> None:
    made = await client.create(PODS, POD)
    armed.arm(KNOBS["commit_then_drop"], random.Random(1), call="delete pods")
    with pytest.raises(ApiError):
        await client.delete(PODS, "p", uid=made["metadata"]["uid"], grace_seconds=0)
    assert here.objects().get(PODS, "default", "p") is None


async def test_a_knob_fires_as_often_as_it_is_armed_and_at_its_call_only(
    armed: Armed, client: kube.KubeCluster
) -> None:
    armed.arm(KNOBS["409_Conflict"], random.Random(1), call="create pods", times=2)
    await client.create(PODS, POD, dry_run=True)
    for _ in range(2):
        with pytest.raises(ApiError):
            await client.create(PODS, POD)
    await client.create(PODS, POD)
    assert [str(triple) for triple in armed.fired] == [" · create pods · 409_Conflict"]


async def test_admission_changes_what_is_stored(armed: Armed, client: kube.KubeCluster) -> None:
    seen: dict[str, Any] = {}
    for knob in admission.KNOBS:
        armed.arm(knob, random.Random(3), call="create pods (dry run)")
        seen[knob.name] = await client.create(PODS, POD, dry_run=True)
    plain = await client.create(PODS, POD)

    def names(pod: Any, part: str) -> list[str]:
        return [container["name"] for container in pod["spec"].get(part, [])]

    assert names(seen["mutate_prepend_sidecar"], "containers") == ["injected", "main"]
    native = seen["mutate_append_native_sidecar"]
    assert native["spec"]["initContainers"][-1]["restartPolicy"] == "Always"
    assert seen["limitrange_defaults"]["spec"]["containers"][0]["resources"]["limits"]["memory"] == "64Mi"
    assert not seen["drop_unknown_fields"]["metadata"].get("annotations")
    assert plain["spec"]["containers"][0]["command"] == MAIN["command"]


async def test_a_webhook_is_skipped_every_other_time(armed: Armed, client: kube.KubeCluster) -> None:
    armed.arm(KNOBS["webhook_sometimes_skipped"], random.Random(1), times=4)
    made = [await client.create(PODS, POD, dry_run=True) for _ in range(4)]
    changed = [pod["spec"]["containers"][0]["command"] != MAIN["command"] for pod in made]
    assert changed in ([True, False] * 2, [False, True] * 2)


def test_every_knob_of_the_family_has_a_story() -> None:
    assert {knob.name for knob in create.KNOBS} == {*SAID, "429"}
