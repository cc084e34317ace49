"""The `moorage` command, made to note every API call and store write, and to die at any one of them.

A program: started as a module by `points.Commands`, it loads Moorage once, reads one JSON request a line on
stdin and forks a process for each, as a shell would start one; when a process has ended it writes one JSON
line. A process's composition is that of ``moorage.main`` with a hook around the store and one around the
cluster.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, cast

import moorage
from moorage.core.errors import ApiError, ApiProblem
from moorage.core.kinds import Json, Resource
from moorage.core.session import Session
from moorage.main import Composition
from moorage.ports.cluster import Cluster, ObjectCache, ServerIdentity
from moorage.ports.store import Lease, Sessions
from moorage.ports.streams import ByteStream, ExecStream
from moorage.sessions.executors import ExecutorConfig
from moorage.settings import Settings
from moorage.store import SqlStore

from . import answers


class Points:
    """The points one process passes, in order: what, in which phase of the session, and how often before.

    ``kill_at``: die exactly there. ``drop_at``: an API call whose answer is thrown away once it has come.
    """

    def __init__(self, log: str, kill_at: str, drop_at: str) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._kill_at, self._drop_at = kill_at, drop_at
        self._passed: Counter[str] = Counter()
        self.phase = "unrecorded"

    def __call__(self, what: str) -> None:
        point = f"{what} [{self.phase}]"
        line = f"{point}#{self._passed[point]}"
        self._passed[point] += 1
        os.write(self._log, f"{line}\n".encode())
        if line == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if line == self._drop_at:
            raise ApiError(ApiProblem(kind="transport", reason="NoAnswer", message="dropped by the test"))


class TracedCluster:
    """A cluster that notes each call before it is sent and after its answer (or refusal) has come.

    A write has a point between the two: committed, and nothing of its answer read (``answers.py``).
    """

    def __init__(self, cluster: Cluster, note: Callable[[str], None]) -> None:
        self._cluster, self._note = cluster, note
        self.namespace = cluster.namespace

    async def _call(self, name: str, call: Callable[[], Any]) -> Any:
        self._note(f"before {name}")
        writes = not name.startswith("get ") and not name.endswith("(dry run)")
        try:
            with answers.coming(lambda: self._note(f"committed {name}")) if writes else nullcontext():
                answer = await call()
        except ApiError:
            self._note(f"after {name}")
            raise
        self._note(f"after {name}")
        return answer

    async def identity(self) -> ServerIdentity:
        found: ServerIdentity = await self._call("get version", self._cluster.identity)
        return found

    async def openapi(self) -> Json:
        found: Json = await self._call("get openapi", self._cluster.openapi)
        return found

    async def served(self, resource: Resource) -> frozenset[str]:
        found: frozenset[str] = await self._call("get discovery", lambda: self._cluster.served(resource))
        return found

    async def try_websocket(self, namespace: str | None = None) -> None:
        await self._call("watch pods", lambda: self._cluster.try_websocket(namespace))

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Json:
        found: Json = await self._call(
            f"get {resource.plural}", lambda: self._cluster.get(resource, name, namespace)
        )
        return found

    async def list_all(
        self, resource: Resource, namespace: str | None = None, **options: Any
    ) -> AsyncIterator[Json]:
        self._note(f"before list {resource.plural}")
        async for item in self._cluster.list_all(resource, namespace, **options):
            yield item
        self._note(f"after list {resource.plural}")

    async def create(
        self, resource: Resource, obj: Json, namespace: str | None = None, **options: Any
    ) -> Json:
        name = f"create {resource.plural}" + (" (dry run)" if options.get("dry_run") else "")
        admitted: Json = await self._call(
            name, lambda: self._cluster.create(resource, obj, namespace, **options)
        )
        return admitted

    async def replace(self, resource: Resource, obj: Json, namespace: str | None = None) -> Json:
        stored: Json = await self._call(
            f"update {resource.plural}", lambda: self._cluster.replace(resource, obj, namespace)
        )
        return stored

    async def patch(
        self, resource: Resource, name: str, patch: Any, namespace: str | None = None, **options: Any
    ) -> Json:
        stored: Json = await self._call(
            f"patch {resource.plural}",
            lambda: self._cluster.patch(resource, name, patch, namespace, **options),
        )
        return stored

    async def apply(self, resource: Resource, obj: Json, **options: Any) -> Json:
        stored: Json = await self._call(
            f"patch {resource.plural}", lambda: self._cluster.apply(resource, obj, **options)
        )
        return stored

    async def delete(
        self, resource: Resource, name: str, namespace: str | None = None, **options: Any
    ) -> None:
        await self._call(
            f"delete {resource.plural}", lambda: self._cluster.delete(resource, name, namespace, **options)
        )

    def watch(
        self, resource: Resource, namespace: str | None = None, **options: Any
    ) -> AbstractAsyncContextManager[ObjectCache]:
        @asynccontextmanager
        async def watched() -> AsyncIterator[ObjectCache]:
            self._note(f"before watch {resource.plural}")
            async with self._cluster.watch(resource, namespace, **options) as cache:
                self._note(f"after watch {resource.plural}")
                yield cache

        return watched()

    async def exec(self, pod: str, container: str, command: Sequence[str], **options: Any) -> ExecStream:
        stream: ExecStream = await self._call(
            "get pods/exec", lambda: self._cluster.exec(pod, container, command, **options)
        )
        return stream

    async def port_forward(self, pod: str, port: int, *, namespace: str | None = None) -> ByteStream:
        stream: ByteStream = await self._call(
            "get pods/portforward", lambda: self._cluster.port_forward(pod, port, namespace=namespace)
        )
        return stream

    async def logs(self, pod: str, container: str, **options: Any) -> AsyncIterator[bytes]:
        self._note("before get pods/log")
        async for chunk in self._cluster.logs(pod, container, **options):
            yield chunk
        self._note("after get pods/log")

    async def close(self) -> None:
        await self._cluster.close()


class TracedSessions:
    """Session records that tell the points which phase the session is in."""

    def __init__(self, sessions: Sessions, note: Points) -> None:
        self._sessions, self._note = sessions, note

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sessions, name)

    async def get(self, name_or_id: str) -> Session:
        session = await self._sessions.get(name_or_id)
        self._note.phase = session.state.phase.value
        return session

    async def save(self, session: Session, lease: Lease) -> Session:
        self._note.phase = session.state.phase.value
        return await self._sessions.save(session, lease)


class TracedComposition(Composition):
    """The one of ``moorage.main``, with hooks."""

    def __init__(self, environ: Mapping[str, str], note: Points) -> None:
        super().__init__(environ)
        self._note = note

    async def open_store(self, settings: Settings, database_url: str = "") -> SqlStore:
        from moorage.store import open_store

        store = await open_store(settings.data_dir, on_write=self._note)
        store.sessions = cast("Sessions", TracedSessions(store.sessions, self._note))
        return store

    def connect(
        self, config: ExecutorConfig, settings: Settings, *, terminal: bool, act_as: str = ""
    ) -> Cluster:
        connected = super().connect(config, settings, terminal=terminal, act_as=act_as)
        return TracedCluster(connected, self._note)


def child(request: dict[str, Any]) -> int:
    """Be the process that runs one command line; its exit code."""
    from moorage.cli.app import run_cli

    for number, path in ((0, os.devnull), (1, request["out"]), (2, request["err"])):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    note = Points(request["log"], request["kill_at"], request["drop_at"])
    if request["endless"]:
        threading.Thread(target=use_and_leave, args=(Path(request["out"]),), daemon=True).start()
    code = run_cli(request["args"], TracedComposition(os.environ, note))
    sys.stdout.flush()
    return code


def use_and_leave(out: Path) -> None:
    """What a person does with a forwarded port: connect to the address that was printed, see that somebody in
    the Pod says something, press Ctrl-C. Who gets nothing never leaves, and the test is over by its limit."""
    while " -> " not in (said := out.read_text()):
        time.sleep(0.02)  # sleep: another process writes that file
    host, _, port = said.partition(" -> ")[0].rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        if connection.recv(1):
            os.kill(os.getpid(), signal.SIGINT)


def load_all() -> None:
    """Import what any verb imports, so that a forked process starts as fast as its work allows."""
    for module in pkgutil.walk_packages(moorage.__path__, "moorage."):
        if not module.name.endswith("__main__") and ".migrations" not in module.name:
            importlib.import_module(module.name)
    importlib.import_module("alembic.command")


def serve() -> None:
    """Fork for each request until stdin ends; report each end."""
    ended_r, ended_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(ended_w)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    selector = selectors.DefaultSelector()
    selector.register(ended_r, selectors.EVENT_READ)
    selector.register(0, selectors.EVENT_READ)
    running: dict[int, int] = {}
    asked = b""
    while True:
        for key, _ in selector.select():
            if key.fd == ended_r:
                os.read(ended_r, 1 << 16)
                _report(running)
            elif more := os.read(0, 1 << 16):  # no buffered reader: select would not see what that holds back
                *lines, asked = (asked + more).split(b"\n")
                for line in lines:
                    _fork(json.loads(line), running)
            else:
                return


def _fork(request: dict[str, Any], running: dict[int, int]) -> None:
    pid = os.fork()
    if pid:
        running[pid] = request["id"]
        return
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 70
    try:
        code = child(request)
    finally:
        os._exit(code)


def _report(running: dict[int, int]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        answer = {"id": running.pop(pid), "code": os.waitstatus_to_exitcode(status)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    load_all()
    answers.install()
    serve()
