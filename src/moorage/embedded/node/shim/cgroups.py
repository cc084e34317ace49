"""A container's memory limit as the kernel keeps it: a group of the v1 memory controller. Called by
``shim.containers`` and ``shim.mounts``.

The container sees its group where a runtime shows it, in ``/sys/fs/cgroup/memory``, so its count of kills is
there before anybody learns of one. Where the kernel gives us no group (an ordinary user, the v2 controller, a
read-only /sys) that is no error: ``shim.oom`` looks after the limit instead.
"""

from __future__ import annotations

import contextlib
import os

PREFIX = "moorage-"


class Group:
    """One group; ``path``: its directory. Its processes are those that were added, and what these start."""

    def __init__(self, path: str) -> None:
        self.path = path

    def add(self, pid: int) -> None:
        """Put a process into it; what it has so far is not counted. One that has gone is no error."""
        with contextlib.suppress(ProcessLookupError):
            _write(self.path, "cgroup.procs", str(pid))

    def kills(self) -> int:
        """How many of its processes the kernel has killed for their memory."""
        words = _text(os.path.join(self.path, "memory.oom_control")).split()
        return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else 0

    def remove(self) -> None:
        """Where processes are still ending ``sweep`` takes it."""
        with contextlib.suppress(OSError):
            os.rmdir(self.path)


def limited(pod: str, container: str, limit: int) -> Group | None:
    """A new group that may hold ``limit`` bytes, None where the kernel lets us have none. ``pod``: what
    ``sweep`` is asked for."""
    parent = own_group(_text("/proc/self/mountinfo"), _text("/proc/self/cgroup"))
    if not parent:
        return None
    group = Group(os.path.join(parent, f"{PREFIX}{pod}-{container}"))
    try:
        os.mkdir(group.path)
        _write(group.path, "memory.limit_in_bytes", str(limit))
    except OSError:
        group.remove()
        return None
    with contextlib.suppress(OSError):  # where swap is not counted
        _write(group.path, "memory.memsw.limit_in_bytes", str(limit))
    return group


def sweep(pod: str) -> None:
    """Remove the Pod's groups in which nothing is left, also those of a shim that was killed."""
    parent = own_group(_text("/proc/self/mountinfo"), _text("/proc/self/cgroup"))
    if not parent:
        return
    with contextlib.suppress(OSError):
        for name in os.listdir(parent):
            if name.startswith(f"{PREFIX}{pod}-"):
                Group(os.path.join(parent, name)).remove()


def own_group(mountinfo: str, cgroup: str) -> str:
    """Where this process's group of the v1 memory controller lies, ``""`` where there is none. From the text
    of the two files in /proc/self; see cgroups(7) and proc(5)."""
    groups = [line.split(":", 2) for line in cgroup.splitlines()]
    own = next((path for _, names, path in groups if "memory" in names.split(",")), "")
    for line in mountinfo.splitlines():
        about, _, kind = line.partition(" - ")
        root, mounted = about.split(" ")[3:5]
        if own and kind.startswith("cgroup ") and "memory" in kind.split(" ")[2].split(","):
            below = os.path.relpath(own, root)
            return mounted if below.startswith("..") else os.path.normpath(os.path.join(mounted, below))
    return ""


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)
