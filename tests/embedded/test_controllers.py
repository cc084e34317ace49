"""What happens by itself: namespaces, owners, claims and their volumes, and where Pods go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moorage import kube
from moorage.core.kinds import CLAIMS, EVENTS, NODES, PODS, STORAGE_CLASSES, Json, Resource
from moorage.core.observed import Absent, Present
from moorage.embedded import EmbeddedCluster
from moorage.embedded.controllers.claims import PROVISIONER
from moorage.embedded.registry.kinds import VOLUMES

from .conftest import MERGE, Asked, config_map, pod


async def until(
    client: kube.KubeCluster, resource: Resource, name: str, holds: Callable[[Json | None], bool]
) -> Json | None:
    """The object (None: it is gone) once ``holds`` is true of it."""
    async with client.watch(resource) as seen:
        while True:
            found = seen.get(name)
            if isinstance(found, Present) and holds(found.value):
                return found.value
            if isinstance(found, Absent) and holds(None):
                return None
            assert await seen.changed(30), f"{name} did not become what it should"


def gone(obj: Json | None) -> bool:
    return obj is None


def phase(word: str) -> Callable[[Json | None], bool]:
    return lambda obj: obj is not None and obj["status"].get("phase") == word


def claim(name: str, storage_class: str = "standard", **spec: Any) -> Json:
    amount = {"requests": {"storage": "1Mi"}}
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": amount,
        **spec,
    }
    return {"metadata": {"name": name}, "spec": wanted}


def with_claim(name: str, claim_name: str) -> Json:
    return pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}])


@pytest.fixture
def node(here: EmbeddedCluster) -> str:
    """A node that is ready and does nothing."""
    room = {"cpu": "2", "memory": "4Gi", "pods": "2"}
    ready = {"type": "Ready", "status": "True"}
    labels = {"kubernetes.io/arch": "amd64"}
    status = {"allocatable": room, "capacity": room, "conditions": [ready]}
    here.objects().create(NODES, {"metadata": {"name": "one", "labels": labels}, "status": status})
    return "one"


@pytest.fixture
def immediate(here: EmbeddedCluster) -> str:
    here.objects().create(STORAGE_CLASSES, {"metadata": {"name": "immediate"}, "provisioner": PROVISIONER})
    return "immediate"


async def test_a_namespace_takes_everything_in_it_along(
    client: kube.KubeCluster, ask: Asked, here: EmbeddedCluster
) -> None:
    await ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    await ask("POST", "/api/v1/namespaces/n/configmaps", config_map("a"))
    held = {"metadata": {"name": "held", "finalizers": ["test/hold"]}}
    await ask("POST", "/api/v1/namespaces/n/configmaps", held)
    left = await ask("DELETE", "/api/v1/namespaces/n")
    assert left.body["status"]["phase"] == "Terminating"
    refused = await ask("POST", "/api/v1/namespaces/n/configmaps", config_map("late"))
    assert (refused.code, refused.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    await ask("PATCH", "/api/v1/namespaces/n/configmaps/held", {"metadata": {"finalizers": None}}, MERGE)
    await until(client, Resource("", "v1", "namespaces", "Namespace", False), "n", gone)
    assert not here.objects().list(EVENTS, "n")


async def owned(ask: Asked, name: str, *owners: str) -> str:
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
        for uid in owners
    ]
    made = await ask("POST", "secrets", {"metadata": {"name": name, "ownerReferences": references}})
    return made.uid


SECRETS = Resource("", "v1", "secrets", "Secret")


async def test_what_an_object_owns_goes_with_it_and_with_nobody_else(
    client: kube.KubeCluster, ask: Asked
) -> None:
    one = (await ask("POST", "configmaps", config_map("one"))).uid
    two = (await ask("POST", "configmaps", config_map("two"))).uid
    await owned(ask, "of-one", one)
    await owned(ask, "of-both", one, two)
    await ask("DELETE", "configmaps/one")
    await until(client, SECRETS, "of-one", gone)
    assert (await ask("GET", "secrets/of-both")).code == 200
    await ask("DELETE", "configmaps/two")
    await until(client, SECRETS, "of-both", gone)


async def test_an_owner_that_nobody_knows_counts_as_gone(client: kube.KubeCluster, ask: Asked) -> None:
    await owned(ask, "lost", "11111111-1111-1111-1111-111111111111")
    await until(client, SECRETS, "lost", gone)


async def test_orphans_stay_and_forget_their_owner(client: kube.KubeCluster, ask: Asked) -> None:
    one = (await ask("POST", "configmaps", config_map("one"))).uid
    await owned(ask, "of-one", one)
    await ask("DELETE", "configmaps/one", {"propagationPolicy": "Orphan"})
    found = await until(
        client, SECRETS, "of-one", lambda obj: obj is not None and not obj["metadata"].get("ownerReferences")
    )
    assert found is not None


async def test_in_the_foreground_the_owner_goes_last(client: kube.KubeCluster, ask: Asked) -> None:
    one = (await ask("POST", "configmaps", config_map("one"))).uid
    await owned(ask, "of-one", one)
    await ask("PATCH", "secrets/of-one", {"metadata": {"finalizers": ["test/hold"]}}, MERGE)
    await ask("DELETE", "configmaps/one", {"propagationPolicy": "Foreground"})
    await until(client, SECRETS, "of-one", lambda o: o is not None and "deletionTimestamp" in o["metadata"])
    assert (await ask("GET", "configmaps/one")).code == 200
    await ask("PATCH", "secrets/of-one", {"metadata": {"finalizers": None}}, MERGE)
    await until(client, Resource("", "v1", "configmaps", "ConfigMap"), "one", gone)


async def test_an_immediate_claim_is_bound_to_a_folder_that_goes_with_it(
    client: kube.KubeCluster, ask: Asked, immediate: str
) -> None:
    await ask("POST", "persistentvolumeclaims", claim("c", immediate))
    bound = await until(client, CLAIMS, "c", phase("Bound"))
    assert bound is not None
    volume = (await ask("GET", f"/api/v1/persistentvolumes/{bound['spec']['volumeName']}")).body
    path = Path(volume["spec"]["hostPath"]["path"])
    (path / "work").write_text("kept")
    await ask("DELETE", "persistentvolumeclaims/c")
    await until(client, VOLUMES, volume["metadata"]["name"], gone)
    assert not path.exists()


async def test_a_late_claim_waits_for_its_pod_and_the_pod_for_it(
    client: kube.KubeCluster, ask: Asked, node: str
) -> None:
    await ask("POST", "persistentvolumeclaims", claim("c"))
    await until(client, EVENTS, await event_name(ask, "WaitForFirstConsumer"), lambda obj: obj is not None)
    assert (await ask("GET", "persistentvolumeclaims/c")).body["status"]["phase"] == "Pending"
    await ask("POST", "pods", with_claim("p", "c"))
    placed = await until(client, PODS, "p", lambda obj: obj is not None and "nodeName" in obj["spec"])
    assert placed is not None
    assert placed["spec"]["nodeName"] == node
    assert (await ask("GET", "persistentvolumeclaims/c")).body["status"]["phase"] == "Bound"


async def event_name(ask: Asked, reason: str) -> str:
    """The name of the first event with that reason; it comes."""
    while True:
        found = await ask("GET", f"events?fieldSelector=reason%3D{reason}")
        if found.body["items"]:
            return str(found.body["items"][0]["metadata"]["name"])


async def test_a_claim_in_use_stays_until_its_pod_is_gone(
    client: kube.KubeCluster, ask: Asked, immediate: str
) -> None:
    await ask("POST", "persistentvolumeclaims", claim("c", immediate))
    await until(client, CLAIMS, "c", phase("Bound"))
    await ask("POST", "pods", with_claim("p", "c"))
    await ask("DELETE", "persistentvolumeclaims/c")
    await ask("POST", "configmaps", config_map("a-change-later"))
    held = await ask("GET", "persistentvolumeclaims/c")
    assert (held.code, "deletionTimestamp" in held.body["metadata"]) == (200, True)
    await ask("DELETE", "pods/p")
    await until(client, CLAIMS, "c", gone)


async def test_a_clone_has_the_bytes_and_a_life_of_its_own(
    client: kube.KubeCluster, ask: Asked, here: EmbeddedCluster, immediate: str
) -> None:
    await ask("POST", "persistentvolumeclaims", claim("c", immediate))
    first = await until(client, CLAIMS, "c", phase("Bound"))
    assert first is not None
    folder = here.volumes / first["spec"]["volumeName"]
    (folder / "file").write_text("one")
    (folder / "link").symlink_to("file")
    source = {"kind": "PersistentVolumeClaim", "name": "c"}
    await ask("POST", "persistentvolumeclaims", claim("copy", immediate, dataSource=source))
    second = await until(client, CLAIMS, "copy", phase("Bound"))
    assert second is not None
    (folder / "file").write_text("two")
    copied = here.volumes / second["spec"]["volumeName"]
    assert (copied / "file").read_text() == "one"
    assert (copied / "link").is_symlink()


def condition(reason: str) -> Callable[[Json | None], bool]:
    def holds(obj: Json | None) -> bool:
        found = (obj or {}).get("status", {}).get("conditions", [])
        return any(c["type"] == "PodScheduled" and c.get("reason") == reason for c in found)

    return holds


UNSCHEDULABLE = {
    "no such label": (
        {"nodeSelector": {"kubernetes.io/arch": "arm64"}},
        "didn't match Pod's node affinity/selector",
    ),
    "too much": (
        {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "3"}}}]},
        "Insufficient cpu",
    ),
    "no such claim": (
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]},
        'persistentvolumeclaim "none" not found',
    ),
}


@pytest.mark.parametrize(("spec", "words"), UNSCHEDULABLE.values(), ids=UNSCHEDULABLE.keys())
async def test_a_pod_that_fits_nowhere_says_why(
    client: kube.KubeCluster, ask: Asked, node: str, spec: dict[str, Any], words: str
) -> None:
    await ask("POST", "pods", pod("p", **spec))
    found = await until(client, PODS, "p", condition("Unschedulable"))
    assert found is not None
    message = found["status"]["conditions"][0]["message"]
    assert message.startswith("0/1 nodes are available: ")
    assert words in message


async def test_a_waiting_pod_is_placed_when_there_is_room_again(
    client: kube.KubeCluster, ask: Asked, node: str
) -> None:
    for name in ("a", "b", "c"):
        await ask("POST", "pods", pod(name))
    waiting = await until(client, PODS, "c", condition("Unschedulable"))
    assert waiting is not None
    assert "Too many pods" in waiting["status"]["conditions"][0]["message"]
    await ask("DELETE", "pods/a", {"gracePeriodSeconds": 0})
    await until(client, PODS, "c", lambda obj: obj is not None and obj["spec"].get("nodeName") == node)


async def test_a_quota_shows_what_is_used(client: kube.KubeCluster, ask: Asked) -> None:
    hard = {"hard": {"pods": "5", "requests.memory": "1Gi"}}
    await ask("POST", "resourcequotas", {"metadata": {"name": "q"}, "spec": hard})
    wanted = {"resources": {"requests": {"memory": "512Mi"}}}
    await ask("POST", "pods", pod("a", wanted))
    quotas = Resource("", "v1", "resourcequotas", "ResourceQuota")
    used = {"pods": "1", "requests.memory": "512Mi"}
    await until(client, quotas, "q", lambda obj: obj is not None and obj["status"].get("used") == used)
