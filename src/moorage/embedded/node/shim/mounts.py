"""A container's file tree: an overlay of the host's root or of an image, its volumes, and its own /proc,
/dev and /sys. Called by ``shim.spawn`` in a process that has a mount namespace of its own.

It ends in ``pivot_root``, so nothing of the host stays in reach. Read-only is made last: mount points must be
made first.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Any

from . import syscalls
from .hostroot import layers, mountpoints

OLD = "/.moorage-old-root"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
         "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}  # fmt: skip
# Files of the host's kernel that its root may write, whatever namespace it is in.
PROC_READ_ONLY = ("bus", "fs", "irq", "sys", "sysrq-trigger")
PROC_MASKED = ("kcore", "keys", "timer_list")
QUIET = syscalls.MS_NOSUID | syscalls.MS_NODEV
BIND = syscalls.MS_BIND | syscalls.MS_REC


def build(spec: dict[str, Any]) -> None:
    """Make the tree that ``spec`` describes and move into it. Raises OSError with the failed step's name."""
    syscalls.mount("none", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    root, work = spec["root"], spec["root"]["work"]
    new = os.path.join(work, "root")
    own = _image(root["image"], work, new) if root["image"] else _host(root["hide"], work, new)
    os.makedirs(new + OLD, exist_ok=True)
    syscalls.pivot_root(new, new + OLD)
    os.chdir("/")
    _kernel_trees(spec)
    for mount in sorted(spec["mounts"], key=lambda each: each["target"].count("/")):
        _volume(mount)
    syscalls.unmount(OLD)
    os.rmdir(OLD)
    if root["read_only"]:
        for path in ["/", *own]:
            syscalls.make_read_only(path, recursive=False)
    with contextlib.suppress(OSError):
        socket.sethostname(spec["hostname"])


def _overlay(lower: str, work: str, name: str, target: str) -> None:
    upper, scratch = os.path.join(work, "upper", name), os.path.join(work, "work", name)
    for path in (upper, scratch, target):
        os.makedirs(path, exist_ok=True)
    status = os.stat(lower)
    os.chmod(upper, status.st_mode & 0o7777)
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):  # an owner whom an ordinary user's namespace has no number for
            os.chown(upper, status.st_uid, status.st_gid)
    words = ",".join(f"{key}={_escaped(path)}" for key, path in
                     (("lowerdir", lower), ("upperdir", upper), ("workdir", scratch)))  # fmt: skip
    syscalls.mount("overlay", target, "overlay", 0, words + ",userxattr")


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")


def _image(image: str, work: str, new: str) -> list[str]:
    _overlay(os.path.realpath(image), work, "image", new)
    return []


def _host(hidden: list[str], work: str, new: str) -> list[str]:
    """Returns the mounts that make up the root file system, as paths within it."""
    os.makedirs(new, exist_ok=True)
    syscalls.mount("tmpfs", new, "tmpfs", QUIET, "mode=0755")
    own = []
    for number, layer in enumerate(layers(hidden, mountpoints())):
        target = new + layer.path
        if layer.kind == "link":
            os.symlink(layer.link, target)
        elif layer.kind == "folder":
            os.mkdir(target, 0o755)
        elif layer.kind == "file":
            _touch(target)
            syscalls.mount(layer.path, target, flags=syscalls.MS_BIND)
            syscalls.make_read_only(target, recursive=False)
        else:
            os.mkdir(target, 0o755)
            try:
                _overlay(layer.path, work, str(number), target)
                own.append(layer.path)
            except OSError:
                if layer.path in ("/usr", "/bin", "/lib", "/etc"):
                    raise  # without these nothing runs; anything else may be missing
    for name, mode in (
        ("tmp", 0o1777),
        ("var/tmp", 0o1777),
        ("root", 0o700),
        ("home", 0o755),
        ("run", 0o755),
    ):
        own += _scratch(new, work, name, mode)
    return own


def _scratch(new: str, work: str, name: str, mode: int) -> list[str]:
    """An empty directory of the container; on disk where much may be written."""
    target, path = os.path.join(new, name), os.path.join(work, "upper", "own-" + name.replace("/", "-"))
    if os.path.lexists(target):
        return []  # the host's layers made it
    os.makedirs(path, exist_ok=True)
    os.chmod(path, mode)
    os.makedirs(target)
    syscalls.mount(path, target, flags=syscalls.MS_BIND)
    return ["/" + name]


def _kernel_trees(spec: dict[str, Any]) -> None:
    for name in ("proc", "dev", "sys"):
        os.makedirs("/" + name, exist_ok=True)
    syscalls.mount("proc", "/proc", "proc", QUIET | syscalls.MS_NOEXEC)
    syscalls.mount("tmpfs", "/dev", "tmpfs", syscalls.MS_NOSUID, "mode=0755")
    for name in DEVICES:
        _touch("/dev/" + name)
        syscalls.mount(f"{OLD}/dev/{name}", "/dev/" + name, flags=syscalls.MS_BIND)
    for name, link in LINKS.items():
        os.symlink(link, "/dev/" + name)
    os.mkdir("/dev/pts")
    syscalls.mount("devpts", "/dev/pts", "devpts", syscalls.MS_NOSUID, "newinstance,ptmxmode=0666,mode=0620")
    os.mkdir("/dev/shm")  # noqa: S108  the container's own
    syscalls.mount("tmpfs", "/dev/shm", "tmpfs", QUIET, "mode=1777")  # noqa: S108
    _sys(spec["cgroup"], spec.get("memory_group", ""))
    if not spec["user"]["privileged"]:
        _guard_proc()


def _sys(cgroup: str, memory_group: str) -> None:
    """The little of /sys that programs ask for, and the cgroup files that the node writes itself; those of
    memory are the kernel's where it keeps the limit."""
    syscalls.mount("tmpfs", "/sys", "tmpfs", QUIET, "mode=0755")
    os.makedirs("/sys/fs/cgroup")
    syscalls.mount(OLD + os.path.realpath(cgroup), "/sys/fs/cgroup", flags=BIND)
    if memory_group:
        syscalls.mount(OLD + memory_group, "/sys/fs/cgroup/memory", flags=BIND)
    os.makedirs("/sys/devices/system")
    with contextlib.suppress(OSError):
        syscalls.mount(OLD + "/sys/devices/system", "/sys/devices/system", flags=BIND)
    syscalls.make_read_only("/sys", recursive=True)


def _guard_proc() -> None:
    for name in PROC_READ_ONLY:
        path = "/proc/" + name
        if os.path.exists(path):
            syscalls.mount(path, path, flags=BIND)
            syscalls.make_read_only(path, recursive=True)
    for name in PROC_MASKED:
        if os.path.exists("/proc/" + name):
            syscalls.mount("/dev/null", "/proc/" + name, flags=syscalls.MS_BIND)


def _volume(mount: dict[str, Any]) -> None:
    """The root is the container's by now, so a link on the way leads no further than it; one that leads to
    nothing says where the volume will be."""
    source, target = OLD + mount["source"], os.path.realpath(mount["target"])
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _touch(target)
    syscalls.mount(source, target, flags=BIND)
    if mount["read_only"]:
        syscalls.make_read_only(target, recursive=True)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
