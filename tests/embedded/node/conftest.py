"""A cluster in this process whose node runs real processes, one per test, in a folder of its own.

Nothing outlives a test: ``destroy`` ends every shim, and a check after each test looks for what is left.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from moorage.core.kinds import EVENTS, NAMESPACES, PODS, SERVICE_ACCOUNTS, Json, Resource
from moorage.embedded import EmbeddedCluster
from moorage.embedded.node import Image, LocalNode
from moorage.embedded.node.decide import Backoff
from moorage.embedded.node.images import HOST
from moorage.embedded.node.parts import Timing
from moorage.embedded.seam import ExecExit, LogOptions

MODES = ("namespaces", "plain")
PATIENCE = 60
QUICK = Timing(backoff=Backoff(first=0.05, longest=0.2), image=Backoff(first=0.05, longest=0.2), volumes=0.05)
"""Back-off that a test can wait for; its growth is a matter of tests/embedded/node/test_decide.py."""
GROUP = "/sys/fs/cgroup"
LIMIT = f"cat {GROUP}/memory.max {GROUP}/memory/memory.limit_in_bytes 2>/dev/null"
KILLS = f"cat {GROUP}/memory.events {GROUP}/memory/memory.oom_control 2>/dev/null | grep '^oom_kill '"
"""A container's memory limit and count of kills, by either version of the kernel's controller."""


@dataclass
class World:
    """A cluster with one node, and the shortest words for what tests do with it."""

    folder: Path
    cluster: EmbeddedCluster
    node: LocalNode

    @property
    def objects(self) -> Any:
        return self.cluster.objects()

    def pod(self, name: str = "p") -> Json:
        """As stored now."""
        found: Json = self.objects.get(PODS, "default", name)
        return found

    def create(self, resource: Resource, kind: Json) -> Json:
        kind.setdefault("metadata", {}).setdefault("namespace", "default")
        made: Json = self.objects.create(
            resource, {"apiVersion": resource.api_version, "kind": resource.kind, **kind}
        )
        return made

    async def start(self, name: str = "p", *, wait: str = "running", **spec: Any) -> Json:
        """Create a Pod of ``spec`` and wait until its main container runs."""
        self.create(PODS, {"metadata": {"name": name}, "spec": {"terminationGracePeriodSeconds": 1, **spec}})
        return await self.until(name, lambda pod: wait in state(pod))

    async def until(self, name: str, accept: Callable[[Json], bool]) -> Json:
        """The Pod once ``accept`` holds; every stored state is looked at."""
        async with asyncio.timeout(PATIENCE), self.objects.watch(PODS) as changes:
            async for kind, pod in changes:
                if pod["metadata"]["name"] == name and kind != "DELETED" and accept(pod):
                    found: Json = pod
                    return found
        raise AssertionError("the watch ended")

    async def delete(self, name: str = "p") -> None:
        """Delete a Pod and wait until it is gone."""
        uid = self.pod(name)["metadata"]["uid"]
        async with asyncio.timeout(PATIENCE), self.objects.watch(PODS) as changes:
            self.objects.delete(PODS, "default", name, uid)
            async for kind, pod in changes:
                if kind == "DELETED" and pod["metadata"]["uid"] == uid:
                    return

    async def told(self, reason: str, words: str = "") -> Json:
        """An Event of that reason whose message has the words."""
        async with asyncio.timeout(PATIENCE), self.objects.watch(EVENTS) as changes:
            async for _, event in changes:
                if event["reason"] == reason and words in event["message"]:
                    found: Json = event
                    return found
        raise AssertionError("the watch ended")

    async def run(
        self, command: list[str], *, pod: str = "p", container: str = "main", stdin: bytes | None = None
    ) -> tuple[ExecExit, bytes, bytes]:
        """Run a command in a container: its end, stdout, stderr."""
        session = await self.node.exec(self.pod(pod), container, command, tty=False, stdin=stdin is not None)
        said = {1: b"", 2: b""}
        async with asyncio.timeout(PATIENCE):
            if stdin is not None:
                writing = asyncio.create_task(session.write(stdin))
                writing.add_done_callback(lambda _: asyncio.ensure_future(session.close_stdin()))
            while (output := await session.read()) is not None:
                said[output[0]] += output[1]
            end = await session.wait()
        await session.close()
        return end, said[1], said[2]

    async def sh(self, script: str, **where: str) -> str:
        """What a script in a container prints, without its last newline; it must succeed."""
        end, out, err = await self.run(["sh", "-c", script], **where)  # type: ignore[arg-type]
        assert end.code == 0, (end, out, err)
        return out.decode().removesuffix("\n")

    async def logs(self, name: str = "p", container: str = "main", **options: Any) -> bytes:
        parts = self.node.logs(self.pod(name), container, LogOptions(**options))
        async with asyncio.timeout(PATIENCE):
            return b"".join([part async for part in parts])


def state(pod: Json, container: str = "main", kind: str = "containerStatuses") -> Json:
    """The state of a container, {} while there is none."""
    for each in (pod.get("status") or {}).get(kind) or []:
        if each["name"] == container:
            found: Json = each["state"]
            return found
    return {}


def status_of(pod: Json, container: str = "main", kind: str = "containerStatuses") -> Json:
    """The whole status of a container, {} while there is none."""
    for each in (pod.get("status") or {}).get(kind) or []:
        if each["name"] == container:
            found: Json = each
            return found
    return {}


def condition(pod: Json, name: str) -> str:
    return {
        each["type"]: str(each["status"]) for each in (pod.get("status") or {}).get("conditions") or []
    }.get(name, "")


def container(
    script: str = "", *, name: str = "main", mounts: dict[str, str] | None = None, **more: Any
) -> Json:
    """A container that runs a script, or waits. ``mounts``: path by volume."""
    wait = "trap 'exit 143' TERM; while :; do sleep 3600 & wait $!; done"
    found: Json = {
        "name": name,
        "image": "host",
        "command": ["sh", "-c", f"{script}\n{wait}" if not script.startswith("!") else script[1:]],
        **more,
    }
    if mounts:
        found["volumeMounts"] = [{"name": key, "mountPath": path} for key, path in mounts.items()]
    return found


async def begin(folder: Path, mode: str, **options: Any) -> World:
    """A cluster with its node on ``folder``, ready for Pods."""
    images = {"host": HOST, **options.pop("images", {})}
    node = LocalNode(
        "local",
        folder / "node",
        images=images,
        default_image=None,
        mode=mode,
        memory=folder / "memory",
        claims=folder / "volumes",
        hidden=(folder,),
        **{"timing": QUICK, **options},
    )
    cluster = EmbeddedCluster(folder, [node])
    await cluster.start()
    world = World(folder, cluster, node)
    async with asyncio.timeout(PATIENCE), world.objects.watch(SERVICE_ACCOUNTS) as accounts:
        async for _, account in accounts:
            if account["metadata"]["namespace"] == "default":
                break
    assert world.objects.get(NAMESPACES, "", "default")
    return world


async def finish(world: World) -> None:
    await world.cluster.stop()
    await world.node.destroy()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: sockets lie below it. Shims that are still there when it goes are an error."""
    path = Path(tempfile.mkdtemp(prefix="mn-"))
    yield path
    left = [pid for pid in os.listdir("/proc") if pid.isdigit() and _names(pid, path)]
    from moorage.embedded.node.starting import remove_tree

    remove_tree(path)
    shutil.rmtree(path, ignore_errors=True)
    assert left == []
    assert not path.exists()


def _names(pid: str, path: Path) -> bool:
    try:
        return str(path) in Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return False


@pytest.fixture(params=MODES)
async def world(folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """In either mode."""
    found = await begin(folder, request.param)
    yield found
    await finish(found)


@pytest.fixture
async def isolated(folder: Path) -> AsyncIterator[World]:
    """In mode namespaces."""
    found = await begin(folder, "namespaces")
    yield found
    await finish(found)


__all__ = ["Image"]
