"""What the node asks of a shim, and the connections it asks over. Called by ``shim.main``.

One JSON object a line opens a connection: ``{"op": …}``. ``watch`` answers with one line per change until it
is closed; ``exec`` and ``attach`` go on in frames (``shim.commands``); everything else is one line back.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from typing import Any

from . import syscalls
from .commands import END_OF_INPUT, FULL, HEADER, SIZE, STDIN, Attachment, Command
from .containers import Container
from .loop import READ, WRITE, Loop
from .spawn import StartError

MAX_REQUEST = 8 << 20


class Pod:
    """All that runs for one Pod."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.containers: dict[str, Container] = {}
        self.commands: list[Command] = []
        self.watchers: list[Connection] = []
        self._pause = 0

    def run(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Start a container. The answer has ``error`` when its program could not be started."""
        pause = self._paused() if spec["share_pid"] else 0
        container = Container(self._loop, spec, pause, self._changed)
        self.containers[spec["id"]] = container
        try:
            container.start()
        except StartError as error:
            return {"record": container.record, "error": str(error)}
        return {"record": container.record}

    def _paused(self) -> int:
        """The first process of a shared process namespace; it only waits."""
        if self._pause:
            return self._pause
        (read, write), (go, gone) = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                syscalls.unshare(syscalls.CLONE_NEWPID)
                child = os.fork()
                if child == 0:
                    os.read(go, 1)  # the parent is gone: whose death ends us is the shim's
                    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
                    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
                    for fd in range(3, 256):
                        with contextlib.suppress(OSError):
                            os.close(fd)
                    while True:
                        signal.pause()
                os.write(write, child.to_bytes(4, "big"))
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        self._pause = int.from_bytes(os.read(read, 4), "big")
        os.write(gone, b"x")
        for fd in (read, write, go, gone):
            os.close(fd)
        return self._pause

    def reaped(self, pid: int, status: int) -> None:
        """A child of the shim has ended."""
        for container in self.containers.values():
            if container.waited == pid and container.record["state"] == "running":
                container.reaped(status)
                for command in [each for each in self.commands if each.container is container]:
                    command.kill()
                return
        for command in self.commands:
            if command.waited == pid:
                self.commands.remove(command)
                command.reaped(status)
                return

    def _changed(self, what: str, container: Container) -> None:
        line = {"log": container.id} if what == "log" else {"record": container.record}
        for watcher in list(self.watchers):
            watcher.tell(line, droppable=what == "log")

    def end(self) -> None:
        """Kill everything and stop serving."""
        for container in self.containers.values():
            container.signal(signal.SIGKILL)
        for command in self.commands:
            command.kill()
        if self._pause:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pause, signal.SIGKILL)
        self._loop.running = False


class Connection:
    """One connection of the node."""

    def __init__(self, loop: Loop, pod: Pod, end: socket.socket) -> None:
        self._loop, self._pod, self._socket = loop, pod, end
        self._in, self._out = bytearray(), bytearray()
        self._peer: Command | Attachment | None = None
        self._open = True
        end.setblocking(False)
        self._fd = end.fileno()
        self._arm()

    def _arm(self) -> None:
        if not self._open:
            return
        full = self._peer is not None and self._peer.input.full
        self._loop.watch(self._fd, (0 if full else READ) | (WRITE if self._out else 0), self._ready)

    def _ready(self, events: int) -> None:
        if events & WRITE:
            self._flush()
        if events & READ and self._open:
            self._read()
        self._arm()

    def _read(self) -> None:
        try:
            data = self._socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close()
            return
        self._in += data
        if self._peer is not None:
            self._frames()
            return
        line, found, rest = bytes(self._in).partition(b"\n")
        if found:
            self._in = bytearray(rest)
            self._asked(json.loads(line))
        elif len(self._in) > MAX_REQUEST:
            self._close()

    def _asked(self, asked: dict[str, Any]) -> None:
        op = asked.pop("op")
        if op == "watch":
            self._pod.watchers.append(self)
            self.tell({"records": [each.record for each in self._pod.containers.values()]})
        elif op == "run":
            self.tell(self._pod.run(asked["spec"]))
        elif op == "end":
            self.tell({})
            self._pod.end()
        else:
            container = self._pod.containers.get(asked.pop("id"))
            if container is None or container.record["state"] != "running":
                self.tell({"error": "container is not running", "gone": True})
            elif op in ("exec", "attach"):
                self._stream(op, container, asked)
            else:
                if op == "oom":
                    container.out_of_memory()
                else:
                    container.signal(int(asked["number"]))
                self.tell({})

    def _stream(self, op: str, container: Container, asked: dict[str, Any]) -> None:
        if op == "attach":
            self.tell({})
            self._peer = Attachment(self._loop, container, asked, self._send)
        else:
            try:
                command = Command(self._loop, container, asked, self._send)
            except StartError as error:
                self.tell({"error": str(error)})
                return
            self.tell({})
            self._pod.commands.append(command)
            self._peer = command
        self._peer.input.on_room = self._arm
        self._frames()
        self._arm()

    def _frames(self) -> None:
        peer = self._peer
        assert peer is not None
        while len(self._in) >= HEADER.size:
            kind, length = HEADER.unpack_from(self._in)
            if len(self._in) < HEADER.size + length:
                return
            data = bytes(self._in[HEADER.size : HEADER.size + length])
            del self._in[: HEADER.size + length]
            if kind == STDIN:
                peer.input.put(data)
            elif kind == END_OF_INPUT:
                peer.finish_input()
            elif kind == SIZE:
                peer.size(*json.loads(data))

    def tell(self, line: dict[str, Any], *, droppable: bool = False) -> None:
        """One JSON line; a droppable one is left out while others wait (it only says: look again)."""
        if not (droppable and self._out):
            self._send(json.dumps(line).encode() + b"\n")

    def _send(self, data: bytes) -> int:
        if self._open:
            self._out += data
            self._flush()
            self._arm()
        return len(self._out)

    def _flush(self) -> None:
        before = len(self._out)
        try:
            while self._out:
                del self._out[: self._socket.send(self._out[: 1 << 18])]
        except BlockingIOError:
            pass
        except OSError:
            self._close()
            return
        if self._peer is not None and before > FULL >= len(self._out):
            self._peer.room()

    def _close(self) -> None:
        if not self._open:
            return
        self._open = False
        self._out.clear()
        self._loop.forget(self._fd)
        if self in self._pod.watchers:
            self._pod.watchers.remove(self)
        if self._peer is not None:
            self._peer.abandon()
        self._socket.close()
