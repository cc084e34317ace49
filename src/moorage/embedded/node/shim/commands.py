"""Commands in a running container (``exec``) and its own streams (``attach``), carried over one connection in
frames. Called by ``shim.main``.

Frame: kind (1 byte), length (4 bytes, big endian), bytes. From the node: 0 stdin, 3 its end, 4 size of the
terminal (columns, rows). To the node: 1 stdout, 2 stderr, 5 the end as JSON ``{"code"}``.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import signal
import struct
import termios
from collections.abc import Callable
from typing import Any

from . import syscalls
from .containers import Container
from .loop import READ, WRITE, Loop
from .spawn import Stdio, spawn

HEADER = struct.Struct(">BI")
STDIN, STDOUT, STDERR, END_OF_INPUT, SIZE, EXIT = 0, 1, 2, 3, 4, 5
CHUNK = 64 << 10
FULL = 1 << 20
"""Bytes that wait for one side before the other is read no further."""

Send = Callable[[bytes], int]
"""Queues bytes for the node; returns how many wait. After the connection has gone it drops them."""


def frame(kind: int, data: bytes) -> bytes:
    return HEADER.pack(kind, len(data)) + data


class Input:
    """Bytes on their way to a process that may be slow to read them."""

    def __init__(self, loop: Loop, fd: int) -> None:
        self._loop, self.fd, self._waiting, self._closing = loop, fd, bytearray(), False
        self.on_room: Callable[[], None] = lambda: None
        if fd >= 0:
            os.set_blocking(fd, False)

    @property
    def full(self) -> bool:
        return len(self._waiting) > FULL

    def put(self, data: bytes) -> None:
        if self.fd >= 0 and not self._closing:
            self._waiting += data
            self._flush(0)

    def finish(self) -> None:
        """Close once all has been written."""
        self._closing = True
        self._flush(0)

    def _flush(self, _: int) -> None:
        if self.fd < 0:
            return
        try:
            while self._waiting:
                del self._waiting[: os.write(self.fd, self._waiting[:CHUNK])]
        except BlockingIOError:
            self._loop.watch(self.fd, WRITE, self._flush)
            return
        except OSError:
            self._waiting.clear()  # nobody reads any more
            self._closing = True
        self._loop.forget(self.fd)
        if self._closing:
            self.close()
        self.on_room()

    def close(self) -> None:
        if self.fd >= 0:
            self._loop.forget(self.fd)
            os.close(self.fd)
            self.fd = -1


class Command:
    """One exec."""

    def __init__(self, loop: Loop, container: Container, asked: dict[str, Any], send: Send) -> None:
        self._loop, self.container, self._send = loop, container, send
        self._terminal = -1
        self._told = -1
        self._outputs: dict[int, int] = {}
        self._status: int | None = None
        self._listening = True
        self.pid = self.waited = 0
        self.input = Input(loop, -1)
        entered = "user" in container.namespaces
        self._start({**container.spec, **asked, "user": {**container.spec["user"], "entered": entered}})

    def _start(self, spec: dict[str, Any]) -> None:
        inputs = os.pipe() if spec["stdin"] and not spec["tty"] else (os.open("/dev/null", os.O_RDONLY), -1)
        out, err = os.pipe(), os.pipe()
        keep = {out[0]: STDOUT, err[0]: STDERR}
        try:
            stdio = Stdio(inputs[0], out[1], err[1], spec["tty"])
            done = spawn(spec, stdio, self._enter, self._settle, self.container.confine)
        except BaseException:
            for fd in (*keep, inputs[1]):
                if fd >= 0:
                    os.close(fd)
            raise
        finally:
            for fd in (inputs[0], out[1], err[1]):
                os.close(fd)
        self.pid, self.waited = done.pid, done.waited
        files = list(done.files)
        if spec["mode"] == "plain":
            self._told = files.pop()
        if files:
            self._terminal = files[0]
            keep[files[0]] = STDOUT
            self.input = Input(self._loop, os.dup(files[0]))
        else:
            self.input = Input(self._loop, inputs[1])
        for fd, channel in keep.items():
            os.set_blocking(fd, False)
            self._outputs[fd] = channel
        self.room()

    def _enter(self) -> None:
        """Runs in the child: move into the container, in an order that keeps the right to go on."""
        for name in ("mnt", "uts", "ipc", "pid"):
            if name in self.container.namespaces:
                syscalls.setns(self.container.namespaces[name])

    def finish_input(self) -> None:
        """The node has no more for it."""
        self.input.finish()

    def _settle(self) -> None:
        if "user" in self.container.namespaces:
            syscalls.setns(self.container.namespaces["user"])

    def room(self) -> None:
        """The node has taken what waited: go on reading the process."""
        for fd in self._outputs:
            self._loop.watch(fd, READ, functools.partial(self._output, fd))

    def _output(self, fd: int, _: int) -> None:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.forget(fd)
            if fd != self._terminal:
                os.close(fd)
            del self._outputs[fd]
            self._finish()
        elif self._listening and self._send(frame(self._outputs[fd], data)) > FULL:
            for other in self._outputs:
                self._loop.forget(other)

    def size(self, columns: int, rows: int) -> None:
        if self._terminal >= 0:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def reaped(self, status: int) -> None:
        if self._told >= 0:
            said = os.read(self._told, 4096)
            os.close(self._told)
            self._told = -1
            status = json.loads(said)["status"] if said else signal.SIGKILL
        self._status = status
        self._finish()

    def _finish(self) -> None:
        """The end is told when the process is gone and all its output was read."""
        if self._status is None or self._outputs:
            return
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1
        self.input.close()
        code = os.waitstatus_to_exitcode(self._status)
        self._send(frame(EXIT, json.dumps({"code": 128 - code if code < 0 else code}).encode()))

    def kill(self) -> None:
        """Its container has ended (mode plain, where nothing else ends it)."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.waited, signal.SIGTERM if self.waited != self.pid else signal.SIGKILL)

    def abandon(self) -> None:
        """The node let go: the process goes on, its output is dropped."""
        self._listening = False
        self.input.finish()
        self.room()


class Attachment:
    """The container's own streams. Where the Pod says ``stdinOnce``, the end of the first one's input is that
    of the container, as with containerd: not of a terminal, and not of one that was only watched."""

    def __init__(self, loop: Loop, container: Container, asked: dict[str, Any], send: Send) -> None:
        self._container, self._send = container, send
        once = container.spec.get("stdin_once", False) and not container.spec["tty"]
        self._ends_input = bool(once and asked.get("stdin"))
        fd = os.dup(container.stdin) if container.stdin >= 0 else -1
        self.input = Input(loop, fd)
        container.listeners.append(self._heard)

    def _heard(self, channel: int, data: bytes) -> None:
        if channel:
            self._send(frame(channel, data))
        else:
            self._send(frame(EXIT, json.dumps({"code": self._container.record.get("code")}).encode()))

    def size(self, columns: int, rows: int) -> None:
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.input.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def room(self) -> None:
        return

    def finish_input(self) -> None:
        """The node has no more for it."""
        self.input.finish()
        if self._ends_input:
            self._container.close_input()

    def abandon(self) -> None:
        if self._heard in self._container.listeners:
            self._container.listeners.remove(self._heard)
        self.finish_input()  # what was sent before is still written
