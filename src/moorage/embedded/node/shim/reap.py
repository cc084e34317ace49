"""Ends of processes. ``keep`` is the life of the parent that stays beside a process in mode plain; the rest
is called by the shim.

Without a process namespace nothing ties a program to what it starts, so the keeper is a subreaper: whatever
the program leaves behind becomes its child, and goes when the program does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal

from . import syscalls


def keep(pid: int, tell: int) -> None:
    """Wait for ``pid``, kill all it left, write its wait status to ``tell`` and end. Never returns."""
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    os.setsid()

    def abandon(number: int, frame: object) -> None:
        _kill_children()
        os._exit(1)

    # The shim's death ends its containers: nobody could tell any more how they ended.
    signal.signal(signal.SIGTERM, abandon)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGTERM)
    keep_open = {tell}
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in keep_open:
            with contextlib.suppress(OSError):
                os.close(int(name))
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            break
    _kill_children()
    os.write(tell, json.dumps({"status": status}).encode())
    os._exit(0)


def _kill_children() -> None:
    while True:
        for child in children(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def children(pid: int) -> list[int]:
    """The processes whose parent is ``pid``."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return [other for other in _processes() if _parent(other) == pid]


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def kill_tree(namespace: int) -> None:
    """Kill every process in the mount namespace with that inode: a container that shares the Pod's processes
    has no first process whose end takes the others along."""
    for pid in _processes():
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}/ns/mnt").st_ino == namespace:
                os.kill(pid, signal.SIGKILL)
