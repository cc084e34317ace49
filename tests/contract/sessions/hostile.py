"""Two sessions driven by this very process: one that means harm, and one that must not notice.

Used by test_hostile_pods and test_hostile_links. What is measured is the memory of this process, and what the
good session is asked for while the other one does its worst.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import os
import tarfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from moorage.core.errors import LinkError, MoorageError
from moorage.core.session import Phase, Session, WorkspaceMode, WorkspaceSpec
from moorage.engine.bootstrap import connect
from moorage.engine.link import AgentLink, open_link
from moorage.kube import connect as kube_connect
from moorage.ports.link import Output, ProcessSpec
from moorage.ports.sessions import Exited, LaunchRequest, SessionVerbs
from moorage.ports.streams import ByteStream

from .commands import PATIENCE
from .observed import Objects

MIB = 1 << 20
ALLOWED = 64 * MIB
"""By how much the memory of the controlling process may grow."""
GOOD, EVIL = "good", "evil"
EMPTY = WorkspaceSpec(WorkspaceMode.EMPTY_DIR)
AT_A_SIGN = "until [ -e /workspace/go ]; do sleep 0.1; done; "
"""Before what an agent does only once ``Scene.go`` was called."""


class Follower:
    """Who follows a session, as ``moorage run`` does: keeps the beginning of its output, and how it ended."""

    def __init__(self, verbs: SessionVerbs, name: str) -> None:
        self.out = bytearray()
        self.count = 0
        self.ended: Exited | None = None
        self.said: list[str] = []
        self._attachment = verbs.attach(name)
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        async for happening in self._attachment.happenings():
            if isinstance(happening, Output):
                self.count += len(happening.data)
                self.out += happening.data[: max(0, MIB - len(self.out))]
            elif isinstance(happening, Exited):
                self.ended = happening

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self._attachment.close()


class Scene:
    """``start`` each of the two, then act ``unharmed``."""

    def __init__(self, verbs: SessionVerbs, objects: Objects, kubeconfig: Path) -> None:
        self.verbs, self.objects = verbs, objects
        self._kubeconfig = kubeconfig
        self._learned = b""
        self.sessions: dict[str, Session] = {}
        self.followers: dict[str, Follower] = {}

    async def start(
        self,
        template: Path,
        script: str,
        name: str = EVIL,
        *,
        workspace: WorkspaceSpec = EMPTY,
        transport: str = "auto",
    ) -> Follower:
        """A session whose agent runs that script; returns once it does."""
        request = LaunchRequest(
            template_text=template.read_bytes(),
            argv=("sh", "-c", script),
            workspace=workspace,
            name=name,
            transport=transport,
            grace_seconds=2.0,
        )
        self.sessions[name] = await self.verbs.launch(request, lambda progress: None)
        follower = self.followers[name] = Follower(self.verbs, name)
        await eventually(f"the agent of {name}", lambda: self._runs(name), follower)
        return follower

    async def _runs(self, name: str) -> bool:
        return (await self.verbs.view(name)).session.state.phase is Phase.RUNNING

    async def both(
        self,
        template: Callable[..., Path],
        script: str,
        *,
        main: dict[str, Any] | None = None,
        spec: dict[str, Any] | None = None,
        **how: Any,
    ) -> Follower:
        """Good and evil, started side by side. ``main`` and ``spec``: of the evil one's Pod."""
        evil, _ = await asyncio.gather(
            self.start(template(main, spec, name="evil.yaml"), script, EVIL, **how),
            self.start(template(name="good.yaml"), "while :; do sleep 1; done", GOOD),
        )
        await self.good_does_its_work()
        known = await self.inside(EVIL, "base64 /run/moorage/bootstrap")  # its agent may read that as well
        self._learned = nonce_in(base64.b64decode(known))
        await self._open(EVIL, "exec", fence=0)  # it is the real one
        return evil

    def pod(self, name: str) -> str:
        return self.sessions[name].inventory.pod_name

    async def inside(self, name: str, script: str) -> str:
        """A shell script in the main container, past Moorage."""
        return await asyncio.to_thread(self.objects.inside, self.pod(name), script)

    async def go(self) -> None:
        """Let the evil one begin."""
        await self.inside(EVIL, "touch /workspace/go")

    async def run(self, name: str, *argv: str) -> bytes:
        """``moorage exec``: standard output of a command that ends with 0."""
        process = await self.verbs.exec(name, ProcessSpec(argv))
        out = bytearray()
        while (piece := await process.read()) is not None:
            out += piece[1]
        assert (await process.wait()).code == 0
        return bytes(out)

    async def good_does_its_work(self) -> None:
        """An exec, and 1 MiB in and out again."""
        async with asyncio.timeout(PATIENCE):
            assert await self.run(GOOD, "echo", "here") == b"here\n"
            data = os.urandom(MIB)
            await self.verbs.put_tar(GOOD, "/workspace", packed("big", data))
            back = [chunk async for chunk in self.verbs.get_tar(GOOD, "/workspace/big")]
        assert unpacked(b"".join(back)) == data

    @contextlib.asynccontextmanager
    async def unharmed(self) -> AsyncIterator[None]:
        """What happens in here costs this process no memory to speak of, the good session nothing, and gives
        away nothing that is of use elsewhere; afterwards the evil one can be removed."""
        before = peak = resident()
        over = asyncio.Event()

        async def watch() -> None:
            nonlocal peak
            while not over.is_set():
                peak = max(peak, resident())
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(over.wait(), 0.05)

        watching = asyncio.create_task(watch())
        try:
            yield
            await self.good_does_its_work()
            await self.nothing_learned_opens_the_good_one()
        finally:
            over.set()
            await watching
        assert peak - before <= ALLOWED, (
            f"{(peak - before) / MIB:.0f} MiB more than the {before / MIB:.0f} before"
        )
        async with asyncio.timeout(PATIENCE):
            await self.verbs.remove(EVIL, lambda progress: None, force=True)
        left = await asyncio.to_thread(self.objects.names)
        assert f"pod/{self.pod(EVIL)}" not in left
        assert f"pod/{self.pod(GOOD)}" in left

    async def nothing_learned_opens_the_good_one(self) -> None:
        """Who holds the evil Pod's nonce cannot open a link to another Pod, by whatever way and fence."""
        for transport in ("portforward", "exec"):
            with pytest.raises(LinkError) as refused:
                await self._open(GOOD, transport, fence=1 << 40)
            assert refused.value.details.get("code") == "unproved"

    async def _open(self, name: str, transport: str, *, fence: int) -> None:
        """Open a link with what was learned in the evil Pod, and close it again."""
        uid = (await asyncio.to_thread(self.objects.pod, self.pod(name)))["metadata"]["uid"]
        cluster = kube_connect(str(self._kubeconfig), None, self.objects.namespace)

        async def opening(stream: ByteStream) -> AgentLink:
            return await open_link(stream, self._learned, fence=fence, expect_pod_uid=uid)

        try:
            await (await connect(cluster, self.pod(name), "agent", opening, transport)).opened.close()
        finally:
            await cluster.close()

    async def close(self) -> None:
        for follower in self.followers.values():
            await follower.close()
        for name in self.sessions:
            with contextlib.suppress(MoorageError):
                await self.verbs.remove(name, lambda progress: None, force=True)


def nonce_in(bootstrap: bytes) -> bytes:
    """The nonce of a bootstrap file: MRG1, two lengths, configuration, nonce (docs/link-protocol.md)."""
    assert bootstrap[:4] == b"MRG1"
    config, nonce = int.from_bytes(bootstrap[4:8]), int.from_bytes(bootstrap[8:12])
    found = bootstrap[12 + config : 12 + config + nonce]
    assert len(found) >= 32
    return found


async def eventually(
    what: str, probe: Callable[[], Awaitable[object]], follower: Follower | None = None
) -> None:
    """Wait for something; fails at once with what ended the following instead."""
    ends = time.monotonic() + PATIENCE
    while not await probe():
        said = bytes(follower.out[-500:]) if follower is not None else b""
        assert time.monotonic() < ends, f"no {what}; the agent said {said!r}"
        if follower is not None and follower.task.done():
            follower.task.result()
        await asyncio.sleep(0.1)  # sleep: nothing in the cluster tells us of this


async def packed(name: str, data: bytes) -> AsyncIterator[bytes]:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    whole = buffer.getvalue()
    for at in range(0, len(whole), 1 << 16):
        yield whole[at : at + (1 << 16)]


def unpacked(archive: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        (member,) = tar.getmembers()
        stream = tar.extractfile(member)
        assert stream is not None
        return stream.read()


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def frame(kind: int, payload: bytes, *, length: int | None = None, stream: int = 0) -> bytes:
    """One frame of the link without a tag; ``length``: what its header says instead of the truth."""
    said = len(payload) if length is None else length
    return bytes([kind]) + stream.to_bytes(4) + said.to_bytes(4) + payload


def shell_bytes(data: bytes) -> str:
    """A shell command that prints these bytes."""
    return f"echo {base64.b64encode(data).decode()} | base64 -d"
