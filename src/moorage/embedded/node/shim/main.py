"""The shim: one process per Pod that starts its containers, keeps their output and their ends, and carries
commands into them. Started by ``node.shims`` (see ``START`` there); asked over ``shim.sock`` in the Pod's
folder.

It outlives the node on purpose: whoever connects next finds everything as it is. It ends when told to, when
its folder is gone, or with its containers when it is killed. It never decides anything about a Pod.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import sys

from . import cgroups, memory, oom, syscalls
from .loop import READ, Loop
from .server import Connection, Pod
from .spawn import START_LIMIT
from .users import enter_user_namespace

SOCKET, LOCK, PROCESS = "shim.sock", "shim.lock", "shim.pid"
LOOK_EVERY = 5.0


def main() -> None:
    """``shim FOLDER MODE``: returns in the caller once the socket takes connections; the shim itself
    stays.
    """
    folder, mode = sys.argv[1:3]
    os.chdir(folder)
    read, write = os.pipe()
    if os.fork():
        os.close(write)
        with contextlib.suppress(BaseException):
            signal.alarm(int(START_LIMIT))
            os._exit(0 if os.read(read, 1) else 1)
        os._exit(1)
    os.close(read)
    os.setsid()
    lock = os.open(LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if mode == "namespaces":
        enter_user_namespace()
        memory.enter_mount_namespace()
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    _serve(write)


def _serve(ready: int) -> None:
    loop = Loop()
    pod = Pod(loop)
    loop.on_child = pod.reaped
    home, name = os.stat("."), os.path.basename(os.getcwd())
    cgroups.sweep(name)

    def look() -> None:
        # A folder that somebody removed (or replaced) is a Pod that nobody can ask for any more.
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(os.getcwd()), home) and os.path.exists(SOCKET):
                return
        pod.end()

    loop.idle = look
    loop.look = lambda: oom.look(pod.containers.values())
    with contextlib.suppress(FileNotFoundError):
        os.unlink(SOCKET)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.umask(0o077)
    listener.bind(SOCKET)
    listener.listen(64)
    listener.setblocking(False)

    def accept(_: int) -> None:
        with contextlib.suppress(BlockingIOError):
            Connection(loop, pod, listener.accept()[0])

    loop.watch(listener.fileno(), READ, accept)
    with open(PROCESS, "w") as file:
        file.write(str(os.getpid()))
    signal.signal(signal.SIGTERM, lambda *_: pod.end())
    os.write(ready, b"x")
    os.close(ready)
    loop.run(LOOK_EVERY)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(SOCKET)
    signal.alarm(int(START_LIMIT))  # the kernel may take its time with what was killed, but not for ever
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    cgroups.sweep(name)
    os._exit(0)  # closes the connections last: who waits for their end sees all gone
