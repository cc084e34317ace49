"""The Pod's containers: one per name at a time, with what is known of its end. Called by ``shim.main``.

What is known stands in ``state.json`` of the attempt's folder, so that it outlives the shim and the node.
Nothing here decides whether a container starts again: that is the node's.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from . import cgroups, memory, reap, syscalls
from .journal import Journal
from .loop import READ, Loop
from .spawn import Stdio, build_tree, spawn

Listener = Callable[[int, bytes], None]
NAMESPACES = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWIPC
CHUNK = 64 << 10


class Container:
    """A container from its start to its end. ``record`` is what state.json holds."""

    def __init__(
        self, loop: Loop, spec: dict[str, Any], pause: int, changed: Callable[[str, Container], None]
    ) -> None:
        self.spec, self.id = spec, spec["id"]
        self.record: dict[str, Any] = {
            key: spec[key] for key in ("id", "name", "attempt")
        } | {"state": "created", "created": time.time()}  # fmt: skip
        self.pid = self.waited = self.mount_namespace = 0
        self.namespaces: dict[str, int] = {}
        self.listeners: list[Listener] = []
        self.stdin = -1
        self._loop, self._pause, self._changed = loop, pause, changed
        self._outputs: dict[int, str] = {}
        self._told = -1
        self._ended = False
        self._status = 0
        self.limit = int(spec["memory_limit"]) if spec["mode"] != "plain" else 0
        self.group: cgroups.Group | None = None
        self._kills: frozenset[int] = frozenset()
        self._journal: Journal | None = None

    def start(self) -> None:
        """Raises StartError; then the record tells an exit with code 128."""
        inputs = os.pipe() if self.spec["stdin"] else (os.open("/dev/null", os.O_RDONLY), -1)
        out, err = os.pipe(), os.pipe()
        stdio = Stdio(inputs[0], out[1], err[1], self.spec["tty"])
        settle = (lambda: build_tree(self.spec)) if self.spec["mode"] != "plain" else (lambda: None)
        try:
            if self.spec["mode"] != "plain":
                memory.limit(self.spec["memory"])
            if self.limit:
                self._limit()
            done = spawn(self.spec, stdio, self._leave, settle, self._made)
        except Exception as error:
            for fd in (out[0], err[0], inputs[1]):
                if fd >= 0:
                    os.close(fd)
            self._close_namespaces()
            self._finish(code=128, reason="StartError", message=str(error))
            raise
        finally:
            for fd in (inputs[0], out[1], err[1]):
                os.close(fd)
        self.pid, self.waited, self.stdin = done.pid, done.waited, inputs[1]
        self._open_user_namespace()
        self._journal = Journal(self.spec["log"])
        streams = {out[0]: "stdout", err[0]: "stderr"}
        files = list(done.files)
        if self.spec["mode"] == "plain":
            self._told = files.pop()
        if files:
            self.stdin = os.dup(files[0])
            streams[files[0]] = "stdout"
        for fd, name in streams.items():
            os.set_blocking(fd, False)
            self._outputs[fd] = name
            self._loop.watch(fd, READ, functools.partial(self._readable, fd))
        self.record.update(state="running", started=time.time(), pid=self.pid)
        self._write()

    def _leave(self) -> None:
        if self.spec["mode"] == "plain":
            return
        syscalls.unshare(NAMESPACES)
        if self._pause:
            fd = os.open(f"/proc/{self._pause}/ns/pid", os.O_RDONLY)
            syscalls.setns(fd)
        else:
            syscalls.unshare(syscalls.CLONE_NEWPID)

    def _made(self, pid: int) -> None:
        """Its process exists, and has not gone on yet."""
        self._open_namespaces(pid)
        self.confine(pid)

    def confine(self, pid: int) -> None:
        """Hold a process of it, and what that starts, to the memory limit."""
        if self.group is not None:
            self.group.add(pid)

    def _limit(self) -> None:
        """By the kernel where it lets us; then the container sees its files instead of ours."""
        self.group = cgroups.limited(os.path.basename(os.getcwd()), self.id, self.limit)
        if self.group is None:
            return
        folder = self.spec["cgroup"]
        for name in os.listdir(folder):
            if name.startswith("memory."):
                os.unlink(os.path.join(folder, name))
        os.mkdir(os.path.join(folder, "memory"))
        self.spec["memory_group"] = self.group.path

    def _open_namespaces(self, pid: int) -> None:
        if self.spec["mode"] == "plain":
            return
        for name in ("mnt", "uts", "ipc", "pid"):
            self.namespaces[name] = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
        self.mount_namespace = os.fstat(self.namespaces["mnt"]).st_ino

    def _open_user_namespace(self) -> None:
        if self.spec["mode"] == "plain":
            return
        with contextlib.suppress(OSError):  # ended already
            path = f"/proc/{self.pid}/ns/user"
            if os.stat(path).st_ino != os.stat("/proc/self/ns/user").st_ino:
                self.namespaces["user"] = os.open(path, os.O_RDONLY)

    def _close_namespaces(self) -> None:
        for fd in self.namespaces.values():
            os.close(fd)
        self.namespaces.clear()

    def _readable(self, fd: int, _: int) -> None:
        self._output(fd)

    def _output(self, fd: int) -> bool:
        """Take what can be read now; False when there was nothing."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""  # a terminal whose last holder has gone
        name = self._outputs[fd]
        assert self._journal is not None
        if not data:
            self._loop.forget(fd)
            os.close(fd)
            del self._outputs[fd]
            self._journal.end(name)
            self._settle()
            return False
        self._journal.put(name, data)
        for listener in list(self.listeners):
            listener(1 if name == "stdout" else 2, data)
        self._changed("log", self)
        return True

    def signal(self, number: int) -> None:
        """Send a signal to its first process; one that has gone is no error."""
        if self.record["state"] == "running" and not self._ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def out_of_memory(self, pid: int = 0) -> None:
        """Kill a process (0: the first) as the kernel does at a memory limit. The count comes first: whoever
        learns of the end looks there."""
        kills, self._kills = self._kills | {pid or self.pid}, self._kills
        if kills == self._kills:
            return  # killed already, and not gone yet
        self._kills = kills
        count = len(kills) + (self.group.kills() if self.group is not None else 0)
        events = os.path.join(self.spec["cgroup"], "memory.events")
        with contextlib.suppress(OSError), open(events, "w") as file:
            file.write(f"low 0\nhigh 0\nmax {count}\noom {count}\noom_kill {count}\noom_group_kill 0\n")
        if pid in (0, self.pid):
            self.record["reason"] = "OOMKilled"
            self.signal(signal.SIGKILL)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def reaped(self, status: int) -> None:
        """Its process (or keeper) has ended with that wait status."""
        self._ended = True
        if self._told >= 0:
            said = os.read(self._told, 4096)
            os.close(self._told)
            status = json.loads(said)["status"] if said else signal.SIGKILL
        elif self._pause:
            reap.kill_tree(self.mount_namespace)
        self._status = status
        # What it wrote last still stands in the pipes. Whoever else holds them open does not keep it alive.
        for fd in list(self._outputs):
            while fd in self._outputs and self._output(fd):
                pass
        self._settle(force=True)

    def _settle(self, *, force: bool = False) -> None:
        if not self._ended or (self._outputs and not force):
            return
        code = os.waitstatus_to_exitcode(self._status)
        number = -code if code < 0 else 0
        if number == signal.SIGKILL and self.group is not None and self.group.kills():
            self.record["reason"] = "OOMKilled"
        self._finish(code=128 + number if number else code, signal=number)

    def close_input(self) -> None:
        """Nobody can write to its stdin from now on but who is doing so."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def _finish(self, **how: Any) -> None:
        if self.record["state"] == "exited":
            return
        for fd in list(self._outputs):
            self._loop.forget(fd)
            os.close(fd)
        self._outputs.clear()
        if self._journal is not None:
            self._journal.close()
        self.close_input()
        self._close_namespaces()
        if self.group is not None:
            self.group.remove()
        self.record.update({"state": "exited", "finished": time.time(), **how})
        self._write()
        for listener in list(self.listeners):
            listener(0, b"")
        self._changed("exited", self)

    def _write(self) -> None:
        path = os.path.join(self.spec["folder"], "state.json")
        with open(path + ".new", "w") as file:
            json.dump(self.record, file)
        os.rename(path + ".new", path)
