"""The node that runs Pods as processes of this machine: implements ``embedded.seam.Node``.

Made by whoever starts the embedded cluster, and by tests. Stopping it stops nothing that runs: each Pod's
shim goes on, and the next node on the same folder takes it over.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import stat
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from moorage.core import owned
from moorage.core.kinds import PODS, Json
from moorage.embedded.node.images import HOST, Image, ImageTable
from moorage.embedded.node.logs import read_log
from moorage.embedded.node.parts import Parts, Timing, link_socket
from moorage.embedded.node.records import Attempt, attempt_folder
from moorage.embedded.node.registration import Registration
from moorage.embedded.node.runtime.detect import Mode, detect
from moorage.embedded.node.shims import Shim, ShimGone, connect_unix
from moorage.embedded.node.starting import remove_tree
from moorage.embedded.node.streams import ShimSession, SocketStream, open_session
from moorage.embedded.node.worker import OVER, Worker
from moorage.embedded.seam import ByteStream, ExecSession, LogOptions, NodeError, Objects

HEARTBEAT = 10.0


class LocalNode:
    """``data``: the folder that everything lies in; ``images``: by reference; ``default_image`` answers for
    all others (None: they cannot be pulled). ``mode``: namespaces, plain or auto; ``memory``: a folder that a
    reboot empties; ``claims``: where volumes without a path of their own lie; ``hidden``: what, beside
    these, no container may see."""

    def __init__(
        self,
        name: str,
        data: Path,
        *,
        images: Mapping[str, Image] | None = None,
        default_image: Image | None = HOST,
        mode: str = "auto",
        memory: Path | None = None,
        claims: Path | None = None,
        hidden: Sequence[Path] = (),
        timing: Timing | None = None,
        clock: Callable[[], float] = time.time,
        heartbeat: float = HEARTBEAT,
    ) -> None:
        # As the kernel names it: what a link leads to is not found from within a container's tree.
        self.name, self.data = name, data.resolve()
        self.images = ImageTable(images or {}, default_image)
        self.mode = Mode(mode)
        self._claims, self._hidden = (claims or data / "volumes").resolve(), hidden
        self._memory, self._timing, self._clock, self._heartbeat = (
            memory,
            timing or Timing(),
            clock,
            heartbeat,
        )
        self._parts: Parts | None = None
        self._workers: dict[str, Worker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._watching: list[asyncio.Task[None]] = []

    async def start(self, objects: Objects) -> None:
        """Register and begin. Raises NodeError when namespaces were asked for and do not work."""
        for folder in (self.data, self.data / "pods", self._claims):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.mode.name != "plain":
            found = await detect(self.data)
            if self.mode.name == "namespaces" and found.name != "namespaces":
                raise NodeError(f"this machine allows no container namespaces: {found.why}")
            self.mode = found
        memory = self._memory or _memory_folder(self.data)
        memory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._parts = Parts(
            name=self.name,
            objects=objects,
            data=self.data,
            memory=memory,
            claims=self._claims,
            hidden=tuple(path.resolve() for path in (self.data, memory, self._claims, *self._hidden)),
            mode=self.mode.name,
            images=self.images,
            timing=self._timing,
            clock=self._clock,
            others=self._others,
        )
        registration = Registration(self._parts, self.mode.why, self._heartbeat)
        registration.beat()
        await self._end_orphans(objects)
        ready = asyncio.Event()
        self._watching = [
            asyncio.create_task(self._watch(objects, ready)),
            asyncio.create_task(registration.keep()),
        ]
        await ready.wait()

    async def stop(self) -> None:
        """Let go of everything; containers go on."""
        tasks = [*self._watching, *self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._watching, self._tasks = [], {}
        self._workers.clear()

    async def destroy(self) -> None:
        """Stop, and end every Pod that runs, as switching the machine off would. Its folder stays."""
        await self.stop()
        for folder in (self.data / "pods").iterdir():
            await Shim(folder, self.mode.name).end()
        remove_tree(self._in_use.memory)

    async def reboot(self) -> None:
        """Switch the machine off and on: every process ends, memory volumes are empty, the rest is kept."""
        objects = self._in_use.objects
        await self.destroy()
        await self.start(objects)

    def processes(self) -> dict[str, int]:
        """The first process of each running container, by the container's id."""
        attempts = [worker.last(name) for worker in self._workers.values() for name in worker.attempts]
        return {each.id: each.pid for each in attempts if each is not None and each.running}

    async def out_of_memory(self, pod: Json, container: str) -> None:
        """Kill a container as its memory limit would; there is no cgroup to do it."""
        worker, attempt = self._running(pod, container)
        await worker.shim.ask("oom", id=attempt.id)

    # Pods.

    async def _watch(self, objects: Objects, ready: asyncio.Event) -> None:
        async with objects.watch(PODS) as changes:
            ready.set()
            async for kind, pod in changes:
                self._changed(kind, pod)

    def _changed(self, kind: str, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        worker = self._workers.get(uid)
        if kind == "DELETED":
            if worker is not None:
                worker.gone()
        elif worker is not None:
            worker.told(pod)
        elif pod["spec"].get("nodeName") == self.name:
            self._workers[uid] = worker = Worker(self._in_use, pod)
            task = asyncio.create_task(worker.run())
            self._tasks[uid] = task
            task.add_done_callback(lambda _: self._forget(uid))

    def _forget(self, uid: str) -> None:
        self._tasks.pop(uid, None)
        self._workers.pop(uid, None)

    def _others(self, uid: str) -> list[Json]:
        return [
            each.pod
            for key, each in self._workers.items()
            if key != uid and (each.pod.get("status") or {}).get("phase") not in OVER
        ]

    async def _end_orphans(self, objects: Objects) -> None:
        """What runs for Pods that are no longer stored, or never were in this store."""
        known = {pod["metadata"]["uid"] for pod in objects.list(PODS)}
        for folder in (self.data / "pods").iterdir():
            if folder.name not in known:
                await Shim(folder, self.mode.name).end()
                await asyncio.to_thread(remove_tree, folder)
                await asyncio.to_thread(remove_tree, self._in_use.memory_folder(folder.name))

    # Streams.

    async def logs(self, pod: Json, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """See ``embedded.seam.Node.logs``."""
        worker, name = self._worker(pod), pod["metadata"]["name"]
        attempts = worker.attempts.get(container) or []
        if options.previous:
            if len(attempts) < 2 and not (attempts and not attempts[-1].running):
                raise NodeError(
                    f'previous terminated container "{container}" in pod "{name}" not found',
                    status=400,
                    reason="BadRequest",
                )
            attempt = attempts[-2] if len(attempts) > 1 else attempts[-1]
        elif not attempts:
            reason = _waiting_reason(worker.pod, container)
            raise NodeError(
                f'container "{container}" in pod "{name}" is waiting to start: {reason}',
                status=400,
                reason="BadRequest",
            )
        else:
            attempt = attempts[-1]

        def running() -> bool:
            found = [each for each in worker.attempts.get(container) or [] if each.number == attempt.number]
            return bool(found) and found[0].running and not worker.removed

        path = attempt_folder(worker.folder, container, attempt.number) / "log"
        async for data in read_log(path, options, worker.output, running):
            yield data

    async def exec(
        self, pod: Json, container: str, command: list[str], *, tty: bool, stdin: bool
    ) -> ExecSession:
        """See ``embedded.seam.Node.exec``."""
        words = self._worker(pod).words(container, command)
        return await self._session(pod, container, "exec", argv=words, tty=tty, stdin=stdin)

    async def attach(self, pod: Json, container: str, *, tty: bool, stdin: bool) -> ExecSession:
        """See ``embedded.seam.Node.attach``."""
        return await self._session(pod, container, "attach", stdin=stdin)

    async def _session(self, pod: Json, container: str, op: str, **what: object) -> ShimSession:
        worker, attempt = self._running(pod, container)
        return await open_session(worker.shim, op, attempt.id, **what)

    async def dial(self, pod: Json, port: int) -> ByteStream:
        """See ``embedded.seam.Node.dial``. Every port but agentctl's is the host's own."""
        worker = self._worker(pod)
        socket = link_socket(worker.pod, worker.sources)
        if port == owned.AGENTCTL_PORT and socket is not None:
            return SocketStream(await connect_unix(worker.shim.seen(socket)))
        return SocketStream(await asyncio.open_connection("127.0.0.1", port))

    def _worker(self, pod: Json) -> Worker:
        worker = self._workers.get(pod["metadata"]["uid"])
        if worker is None:
            raise NodeError(
                f'pod "{pod["metadata"]["name"]}" is not on node {self.name}', status=404, reason="NotFound"
            )
        return worker

    def _running(self, pod: Json, container: str) -> tuple[Worker, Attempt]:
        worker = self._worker(pod)
        attempt = worker.last(container)
        if attempt is None or not attempt.running:
            raise NodeError(f'container not found ("{container}")')
        return worker, attempt

    @property
    def _in_use(self) -> Parts:
        assert self._parts is not None, "start() first"
        return self._parts


def _waiting_reason(pod: Json, container: str) -> str:
    status = pod.get("status") or {}
    for each in [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]:
        if each["name"] == container:
            return str((each["state"].get("waiting") or {}).get("reason") or "ContainerCreating")
    return "ContainerCreating"


def _memory_folder(data: Path) -> Path:
    """In /dev/shm where we can have a folder there that is ours alone, else below ``data``."""
    name = hashlib.sha256(f"{data.resolve()} {os.getuid()}".encode()).hexdigest()[:12]
    path = Path("/dev/shm") / f"moorage-{name}"  # noqa: S108  checked below
    with contextlib.suppress(OSError):
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077:
            return path
    return data / "memory"


__all__ = ["LocalNode", "ShimGone"]
