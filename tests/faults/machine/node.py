"""A node whose Pods are scripts: they run at once, and in each of them sits an agentctl in a variable.

Used by the state machine in place of processes. It reports as a kubelet does, through ``report`` (where
knobs of the POD family change what is said), and answers exec, logs and port-forward.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from moorage.core.bootstrap import RECEIVE, TUNNEL
from moorage.core.errors import ApiError
from moorage.core.kinds import CLAIMS, NODES, PODS, Json
from moorage.core.owned import AGENTCTL_PORT
from moorage.embedded.seam import CommandNotStarted, ExecExit, LogOptions, NodeError, Objects
from tests.embedded.fake_nodes import running
from tests.faults.machine.agentctl import Agentctl, Workspace
from tests.faults.machine.link_server import LinkServer

NAME = "scripted"
ROOM = {"cpu": "1000", "memory": "1000Gi", "pods": "100000"}
Report = Callable[[Json, Json], list[Json]]


class Pipes:
    """The streams of one command or connection: implements ``seam.ExecSession`` and ``seam.ByteStream``."""

    def __init__(self, program: Callable[[Pipes], Awaitable[int]], *, framed: bool) -> None:
        self._framed = framed
        self._out: asyncio.Queue[bytes] = asyncio.Queue()
        self._in: asyncio.Queue[bytes] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(program))

    async def _run(self, program: Callable[[Pipes], Awaitable[int]]) -> int:
        try:
            return await program(self)
        finally:
            self._out.put_nowait(b"")

    async def typed(self) -> bytes:
        """What the client sent; b"" at its end."""
        return await self._in.get()

    def say(self, data: bytes) -> None:
        self._out.put_nowait(data)

    async def write(self, data: bytes) -> None:
        self._in.put_nowait(data)

    async def close_stdin(self) -> None:
        self._in.put_nowait(b"")

    async def resize(self, columns: int, rows: int) -> None: ...

    async def wait(self) -> ExecExit:
        return ExecExit(await self._task)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class Command(Pipes):
    """As a command: its output comes with a channel."""

    async def read(self) -> tuple[int, bytes] | None:
        data = await self._out.get()
        return (1, data) if data else None


class Connection(Pipes):
    """As a port."""

    async def read(self) -> bytes:
        return await self._out.get()


Program = Callable[[Agentctl, Pipes], Awaitable[int]]


@dataclass
class Pod:
    """What runs behind one Pod object."""

    agent: Agentctl
    open: list[Pipes] = field(default_factory=list)


class ScriptedNode:
    """``workspaces`` by the UID of a claim (or of a Pod without one); ``pods`` by UID. ``quits``: by the
    name of a namespace, the code with which agents there end by themselves."""

    name = NAME

    def __init__(self, report: Report) -> None:
        self.pods: dict[str, Pod] = {}
        self.workspaces: dict[str, Workspace] = {}
        self.quits: dict[str, int] = {}
        self._report = report
        self._counts: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))
        self._task: asyncio.Task[None] | None = None

    async def start(self, objects: Objects) -> None:
        self._objects = objects
        labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
        if objects.get(NODES, "", NAME) is None:
            info = {"architecture": "amd64", "operatingSystem": "linux"}
            ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
            status = {"allocatable": ROOM, "capacity": ROOM, "nodeInfo": info, "conditions": [ready]}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, "labels": labels}}
            objects.create(NODES, {**node, "status": status})
        self._task = asyncio.create_task(self._follow())

    def check(self) -> None:
        """Raises what ended it, should it have ended: a test would wait for its Pods in vain."""
        assert self._task is not None
        if self._task.done():
            self._task.result()

    async def stop(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        async with self._objects.watch(PODS) as changes:
            async for kind, pod in changes:
                if pod["spec"].get("nodeName") == NAME:
                    with contextlib.suppress(ApiError):
                        await self._look(kind, pod)

    async def _look(self, kind: str, pod: Json) -> None:
        meta = pod["metadata"]
        if kind == "DELETED":
            await self._end(meta["uid"])
        elif meta.get("deletionTimestamp"):
            await self._end(meta["uid"])
            self._objects.remove(PODS, meta["namespace"], meta["name"], meta["uid"])
        elif (pod.get("status") or {}).get("phase", "Pending") == "Pending":
            if meta["uid"] not in self.pods:
                self.pods[meta["uid"]] = Pod(self._agent(pod))
            for status in self._report(pod, running(pod)):
                current = self._objects.get(PODS, meta["namespace"], meta["name"]) or pod
                pod = self._objects.update_status(PODS, {**current, "status": status})

    def _agent(self, pod: Json) -> Agentctl:
        meta = pod["metadata"]
        home = meta["uid"]
        for volume in pod["spec"].get("volumes") or ():
            name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            claim = self._objects.get(CLAIMS, meta["namespace"], name) if name else None
            home = claim["metadata"]["uid"] if claim else home
        workspace = self.workspaces.setdefault(home, Workspace())
        session = (meta.get("labels") or {}).get("moorage.dev/session-id", meta["namespace"])
        count = self._counts[session]
        return Agentctl(meta["uid"], workspace, count, quits=self.quits.get(meta["namespace"]))

    async def _end(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            pod.agent.ended(signal=9)
            for pipes in pod.open:
                await pipes.close()

    def _running(self, pod: Json) -> Pod:
        found = self.pods.get(pod["metadata"]["uid"])
        if found is None:
            raise NodeError("container not found", status=404, reason="NotFound")
        return found

    async def logs(self, pod: Json, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        self._running(pod)
        yield b"waiting for agentctl\n"

    async def exec(self, pod: Json, container: str, command: list[str], *, tty: bool, stdin: bool) -> Command:
        found = self._running(pod)
        programs: dict[tuple[str, ...], Program] = {RECEIVE: _receive, TUNNEL: _tunnel}
        program = programs.get(tuple(command))
        if command[:2] == ["/bin/sh", "-c"] and command[3:4] == ["install"]:
            program = _installing(int(command[4]), receive=bool(command[6:]))
        if program is None:
            raise CommandNotStarted(f'exec: "{command[0]}": no such file or directory')
        chosen = program
        session = Command(lambda pipes: chosen(found.agent, pipes), framed=True)
        found.open.append(session)
        return session

    async def attach(self, pod: Json, container: str, *, tty: bool, stdin: bool) -> Command:
        raise NodeError("nobody attaches here", status=400, reason="BadRequest")

    async def dial(self, pod: Json, port: int) -> Connection:
        found = self._running(pod)
        if port != AGENTCTL_PORT or found.agent.nonce is None:
            raise ConnectionRefusedError
        connection = Connection(lambda pipes: _tunnel(found.agent, pipes), framed=False)
        found.open.append(connection)
        return connection


async def _tunnel(agent: Agentctl, pipes: Pipes) -> int:
    if agent.nonce is None:
        return 1
    await LinkServer(agent, pipes.typed, pipes.say).serve()
    return 0


async def _receive(agent: Agentctl, pipes: Pipes, already: bytes = b"") -> int:
    intro = {"pod_uid": agent.pod_uid, "helper": "in-memory", "platform": "linux/amd64"}
    pipes.say(json.dumps(intro).encode() + b"\n")
    frame = await _exactly(pipes, 12, already)
    config, nonce = (int.from_bytes(frame[at : at + 4], "big") for at in (4, 8))
    frame = await _exactly(pipes, 12 + config + nonce, frame)
    if len(frame) < 12 + config + nonce:
        return 1
    agent.nonce = frame[12 + config : 12 + config + nonce]
    receipt = {"sha256": hashlib.sha256(frame[: 12 + config + nonce]).hexdigest(), "woke": True}
    pipes.say(json.dumps(receipt).encode() + b"\n" + b'{"listening":true}\n')
    return 0


def _installing(length: int, *, receive: bool) -> Callable[[Agentctl, Pipes], Awaitable[int]]:
    async def install(agent: Agentctl, pipes: Pipes) -> int:
        got = await _exactly(pipes, length, b"")
        if len(got) < length:
            pipes.say(b"wrong_sum\n")
            return 1
        agent.installed = True
        pipes.say(b"installed\n")
        return await _receive(agent, pipes, got[length:]) if receive else 0

    return install


async def _exactly(pipes: Pipes, length: int, already: bytes) -> bytes:
    """At least so many bytes, fewer only at the end of stdin."""
    got = bytearray(already)
    while len(got) < length and (data := await pipes.typed()):
        got += data
    return bytes(got)
