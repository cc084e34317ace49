"""A Pod that means harm to its node, its session and whoever looks at it: the session beside it goes on, and
the process that drives both stays small. What it does to the link is in test_hostile_links.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from testcluster.cluster import Cluster
from testcluster.shell import run

from moorage.core.errors import HelperError
from moorage.core.session import AgentExit, WorkspaceMode, WorkspaceSpec
from moorage.ports.link import ProcessSpec

from .commands import Moorage
from .conftest import Template
from .hostile import AT_A_SIGN, EVIL, MIB, Scene, eventually, packed
from .observed import Objects

pytestmark = pytest.mark.node
ROOM = 64 * MIB
"""Of the only volume that may be filled here."""
PROCESSES = 120
"""That the Pod which forks without end may have."""


async def test_a_pod_that_floods_its_output(scene: Scene, template: Template) -> None:
    evil = await scene.both(template, f"{AT_A_SIGN} exec yes")
    async with scene.unharmed():
        await scene.go()
        beside = await scene.verbs.exec(EVIL, ProcessSpec(("cat", "/dev/zero")))  # and nobody reads that

        async def flooded() -> bool:
            return evil.count > 8 * MIB

        await eventually("8 MiB of output", flooded, evil)
        await scene.good_does_its_work()
        await beside.close()


@pytest.fixture
async def small_claim(scene: Scene, objects: Objects, tmp_path: Path) -> AsyncIterator[str]:
    """A claim whose volume has 64 MiB of room, in memory; it goes after the session on it."""
    place, name = tmp_path / "room", f"room-{objects.namespace}"[:60]
    place.mkdir()
    await asyncio.to_thread(run, "mount", "-t", "tmpfs", "-o", f"size={ROOM}", "none", place)
    try:
        volume = {
            "capacity": {"storage": "64Mi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "static",
            "hostPath": {"path": str(place)},
        }
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "static",
            "volumeName": name,
            "resources": {"requests": {"storage": "64Mi"}},
        }
        for kind, spec in (("PersistentVolume", volume), ("PersistentVolumeClaim", claim)):
            objects.create({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
        yield name
        await scene.close()
        objects.kubectl("delete", "pvc", name)
        objects.kubectl("delete", "pv", name)
    finally:
        await asyncio.to_thread(run, "umount", "-l", place)


async def test_a_pod_that_writes_ten_gigabytes(scene: Scene, template: Template, small_claim: str) -> None:
    write = "while :; do dd if=/dev/zero of=big bs=1M count=10240 conv=notrunc 2>&1; sleep 0.2; done"
    given = WorkspaceSpec(WorkspaceMode.EXISTING_CLAIM, claim_name=small_claim)
    evil = await scene.both(template, f"{AT_A_SIGN} {write}", workspace=given)
    async with scene.unharmed():
        await scene.go()

        async def full() -> bool:
            return b"No space left" in evil.out

        await eventually("a full workspace", full, evil)
        with pytest.raises(HelperError) as refused:
            await scene.verbs.put_tar(EVIL, "/workspace", packed("more", bytes(MIB)))
        assert refused.value.details["code"] == "no_space"
        await scene.good_does_its_work()
        assert b"big" in await scene.run(EVIL, "ls", "/workspace")  # it can still be looked into


def pids_folder(local: Cluster, pod_uid: str) -> Path:
    """The cgroup of a Pod, where the number of its processes can be limited."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    roots = [Path(where) for _, where, kind, options, *_ in mounts
             if (kind == "cgroup" and "pids" in options.split(",")) or kind == "cgroup2"]  # fmt: skip
    found = [path.parent for root in roots for path in root.glob(f"**/*{pod_uid}*/pids.max")]
    assert found, f"no cgroup of Pod {pod_uid} below {roots}"
    return min(found, key=lambda path: len(path.parts))


async def test_a_pod_that_forks_without_end(
    scene: Scene, template: Template, objects: Objects, local_cluster: Cluster
) -> None:
    limits: dict[str, Any] = {"resources": {"limits": {"cpu": "300m", "memory": "256Mi"}}}
    bomb = "b() { b | b & }; while :; do b; sleep 0.1; done"
    await scene.both(template, f"{AT_A_SIGN} {bomb}", main=limits)
    folder = pids_folder(local_cluster, objects.pod(scene.pod(EVIL))["metadata"]["uid"])
    (folder / "pids.max").write_text(str(PROCESSES))  # else it would be this machine that ends
    async with scene.unharmed():
        await scene.go()

        async def refused() -> bool:
            return any("max 0" not in path.read_text() for path in folder.rglob("pids.events"))

        await eventually("a fork that was refused", refused)
        await scene.good_does_its_work()


async def test_a_pod_that_holds_on_to_its_streams(scene: Scene, template: Template) -> None:
    deaf = "trap '' TERM HUP INT; while :; do sleep 1; done"
    evil = await scene.both(template, f'{AT_A_SIGN} setsid sh -c "{deaf}" & echo bye; {AT_A_SIGN} exit 3')
    async with scene.unharmed():
        holding = await scene.verbs.exec(EVIL, ProcessSpec(("sh", "-c", f"{deaf} & echo here; {deaf}")))
        assert await holding.read() == (1, b"here\n")
        await scene.good_does_its_work()
        await holding.close()  # comes back, whatever is still held
        await scene.go()

        async def over() -> bool:
            return evil.ended is not None

        await eventually("the end of an agent whose child holds its output", over, evil)
        assert evil.ended is not None
        assert evil.ended.exit == AgentExit(code=3)


ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202e"
"""Sets a title, wipes the screen, turns red, turns words around."""


@pytest.fixture
def octal() -> str:
    """The same, as printf and a shell write it."""
    return "".join(f"\\\\{byte:03o}" for byte in ESCAPES.encode())


async def test_a_pod_that_prints_terminal_escapes(
    scene: Scene, template: Template, octal: str, moorage: Moorage
) -> None:
    name = f"$(printf '{octal}')"
    script = f"""{AT_A_SIGN} printf '{octal}\\\\n'; mkdir d; mkfifo "d/{name}"; echo x > "d/file{name}"
        printf '{octal}' > /dev/termination-log; exec sleep 100000"""
    evil = await scene.both(template, script.replace("\\\\", "\\"))
    async with scene.unharmed():
        await scene.go()

        async def printed() -> bool:
            return ESCAPES.encode() in evil.out  # an agent's output is what it is

        await eventually("the escapes", printed, evil)
        await eventually("the file", lambda: scene.run(EVIL, "ls", "d"))
        shown = [
            moorage.start("cp", f"{EVIL}:/workspace/d", moorage.home / "copy"),
            moorage.start("exec", EVIL, "--", ESCAPES),
            moorage.start("describe", EVIL),
            moorage.start("events", EVIL),
            moorage.start("ls", "-o", "wide"),
        ]
        await scene.good_does_its_work()
        for command in shown:
            done = await asyncio.to_thread(command.end)
            for text in (done.out.decode(), done.err):
                assert not {char for char in ESCAPES if not char.isprintable()} & set(text), repr(text)
