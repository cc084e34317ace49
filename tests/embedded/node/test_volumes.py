"""Volumes at their paths, in both modes."""

from __future__ import annotations

import base64
import os
from typing import Any

import pytest

from moorage.core.kinds import CLAIMS, CONFIG_MAPS, SECRETS, Json
from moorage.embedded.node.decide import Backoff
from moorage.embedded.node.parts import Timing

from .conftest import World, begin, container, finish, state


def text(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


FILES: list[tuple[str, Json, dict[str, str]]] = [
    ("a ConfigMap", {"configMap": {"name": "c"}}, {"one": "1", "two": "2"}),
    (
        "a key of it elsewhere",
        {"configMap": {"name": "c", "items": [{"key": "one", "path": "d/f"}]}},
        {"d/f": "1"},
    ),
    ("a Secret", {"secret": {"secretName": "s"}}, {"token": "hidden"}),
    ("an optional one that is absent", {"configMap": {"name": "absent", "optional": True}}, {}),
    (
        "the Pod's own fields",
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"name": "p"},
    ),
    (
        "several at once",
        {
            "projected": {
                "sources": [
                    {"configMap": {"name": "c", "items": [{"key": "two", "path": "c/two"}]}},
                    {"secret": {"name": "s"}},
                    {
                        "downwardAPI": {
                            "items": [{"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]
                        }
                    },
                ]
            }
        },
        {"c/two": "2", "token": "hidden", "ns": "default"},
    ),
]


def make_sources(world: World) -> None:
    world.create(CONFIG_MAPS, {"metadata": {"name": "c"}, "data": {"one": "1", "two": "2"}})
    world.create(SECRETS, {"metadata": {"name": "s"}, "data": {"token": text("hidden")}})


async def test_files_of_configuration_lie_at_their_paths(world: World) -> None:
    make_sources(world)
    volumes = [{"name": f"v{at}", **source} for at, (_, source, _) in enumerate(FILES)]
    mounts = {f"v{at}": f"/etc/given/{at}" for at in range(len(FILES))}
    await world.start(volumes=volumes, containers=[container(mounts=mounts)])
    for at, (what, _, files) in enumerate(FILES):
        for path, wanted in files.items():
            assert await world.sh(f"cat /etc/given/{at}/{path}") == wanted, what
        assert (await world.sh(f"ls /etc/given/{at}")).split() == sorted(
            {path.split("/")[0] for path in files}
        ), what


async def test_variables_come_from_configuration_and_the_pods_fields(world: World) -> None:
    make_sources(world)
    env: list[Json] = [
        {"name": "ONE", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "one"}}},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}},
        {"name": "UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
        {"name": "BOTH", "value": "$(ONE)-$(TOKEN)-$(NONE)-$$(ONE)"},
    ]
    source = [{"prefix": "C_", "configMapRef": {"name": "c"}}]
    await world.start(containers=[container(env=env, envFrom=source)])
    uid = world.pod()["metadata"]["uid"]
    assert await world.sh('echo "$BOTH $UID $C_two"') == f"1-hidden-$(NONE)-$(ONE) {uid} 2"


async def test_a_changed_configuration_reaches_the_running_container(folder: Any) -> None:
    world = await begin(folder, "plain", timing=Timing(backoff=Backoff(first=0.05), refresh=0.05))
    try:
        make_sources(world)
        volumes = [{"name": "v", "configMap": {"name": "c"}}]
        await world.start(volumes=volumes, containers=[container(mounts={"v": "/given"})])
        found = world.objects.get(CONFIG_MAPS, "default", "c")
        world.objects.update(CONFIG_MAPS, {**found, "data": {"three": "3"}})
        assert (
            await world.sh("until [ -e /given/three ]; do :; done; ls /given; cat /given/three") == "three\n3"
        )
    finally:
        await finish(world)


@pytest.mark.parametrize(
    ("volume", "words"),
    [
        ({"configMap": {"name": "absent"}}, 'configmap "absent" not found'),
        ({"secret": {"secretName": "absent"}}, 'secret "absent" not found'),
        (
            {"configMap": {"name": "c", "items": [{"key": "no", "path": "f"}]}},
            "references non-existent config key: no",
        ),
        ({"hostPath": {"path": "/no/such/path"}}, "hostPath type check failed"),
        ({"nfs": {"server": "s", "path": "/"}}, "volumes of kind nfs are not supported by the embedded node"),
    ],
)
async def test_a_volume_that_cannot_be_had_keeps_the_pod_waiting(
    world: World, volume: Json, words: str
) -> None:
    make_sources(world)
    await world.start(
        wait="waiting", volumes=[{"name": "v", **volume}], containers=[container(mounts={"v": "/given"})]
    )
    event = await world.told("FailedMount", words)
    assert event["message"].startswith('MountVolume.SetUp failed for volume "v" : ')
    assert state(world.pod())["waiting"]["reason"] == "ContainerCreating"
    assert world.pod()["status"]["phase"] == "Pending"


async def test_a_claims_bytes_outlive_its_pod_and_an_empty_dirs_do_not(world: World) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}}
    world.create(CLAIMS, {"metadata": {"name": "data"}, "spec": spec})
    volumes: list[Json] = [
        {"name": "w", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "e", "emptyDir": {}},
    ]
    main = container(mounts={"w": "/workspace", "e": "/scratch"})
    await world.start(volumes=volumes, containers=[main])
    await world.sh("echo kept > /workspace/f; echo gone > /scratch/f")
    await world.delete()
    await world.start(volumes=volumes, containers=[main])
    assert await world.sh("cat /workspace/f; ls /scratch") == "kept"


async def test_a_sub_path_shows_that_part_and_never_what_a_link_leads_to(isolated: World) -> None:
    mounts = [
        {"name": "v", "mountPath": "/all"},
        {"name": "v", "mountPath": "/part", "subPath": "a/b"},
        {"name": "v", "mountPath": "/named", "subPathExpr": "$(WHO)"},
    ]
    volumes = [{"name": "v", "emptyDir": {}}]
    env = [{"name": "WHO", "value": "me"}]
    await isolated.start(volumes=volumes, containers=[container(volumeMounts=mounts, env=env)])
    assert await isolated.sh("echo x > /part/f; echo y > /named/g; cat /all/a/b/f /all/me/g") == "x\ny"

    folder = isolated.folder / "evil"
    folder.mkdir()
    os.symlink("/", folder / "out")
    leads_out = [{"name": "v", "mountPath": "/part", "subPath": "out/etc"}]
    await isolated.start(
        "evil",
        wait="waiting",
        volumes=[{"name": "v", "hostPath": {"path": str(folder)}}],
        containers=[container(volumeMounts=leads_out)],
    )
    await isolated.told("Failed", "it leads out of the volume")


async def test_a_volume_below_a_link_lies_where_the_link_leads_to_inside_the_container(
    isolated: World,
) -> None:
    """Also where nothing is there yet, and never at the host's path of that name."""
    place = isolated.folder / "place"
    links = container(f"!ln -s {place} /outer/link; ln -s {place}.file /outer/file", mounts={"w": "/outer"})
    inner = [
        {"name": "w", "mountPath": "/outer"},
        {"name": "v", "mountPath": "/outer/link"},
        {"name": "c", "mountPath": "/outer/file", "subPath": "one"},
    ]
    make_sources(isolated)
    await isolated.start(
        volumes=[
            {"name": "w", "emptyDir": {}},
            {"name": "v", "emptyDir": {}},
            {"name": "c", "configMap": {"name": "c"}},
        ],
        initContainers=[{**links, "name": "links"}],
        containers=[container(volumeMounts=inner)],
    )
    assert await isolated.sh(f"echo x > /outer/link/f; cat {place}/f {place}.file") == "x\n1"
    assert not place.exists()
