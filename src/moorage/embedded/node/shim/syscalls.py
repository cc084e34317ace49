"""The Linux calls that Python 3.11 has no function for, by ctypes. Called by the shim's other modules only.

Every function raises OSError with the call's name where the kernel refuses. No policy stands here.
"""

from __future__ import annotations

import ctypes
import os
import platform

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY = 1
_NUMBERS = {"x86_64": (155, 442), "aarch64": (41, 442)}
"""pivot_root and mount_setattr, which C libraries give no function for."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
)


def unshare(flags: int) -> None:
    """Leave the namespaces named by ``flags`` for new ones."""
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int) -> None:
    """Enter the namespace an open file of /proc/PID/ns stands for."""
    _check(_libc.setns(fd, 0), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2); the message of its OSError names the target."""
    words = [os.fsencode(word) if word else None for word in (source, target, kind, data)]
    _check(_libc.mount(words[0], words[1], words[2], flags, words[3]), f"mount {kind or 'bind'} on {target}")


def unmount(target: str) -> None:
    """Detach what is mounted on ``target``."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make ``new`` the root and put the old one at ``old``."""
    number = _numbers()[0]
    done = _libc.syscall(
        ctypes.c_long(number), ctypes.c_char_p(os.fsencode(new)), ctypes.c_char_p(os.fsencode(old))
    )
    _check(done, "pivot_root")


def make_read_only(target: str, *, recursive: bool) -> None:
    """Forbid writing through the mount at ``target`` (and those below it); other flags stay as they are."""
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_RDONLY, 0, 0, 0)
    done = _libc.syscall(
        ctypes.c_long(_numbers()[1]),
        ctypes.c_int(_AT_FDCWD),
        ctypes.c_char_p(os.fsencode(target)),
        ctypes.c_uint(_AT_RECURSIVE if recursive else 0),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _check(done, f"mount_setattr {target}")


def prctl(option: int, value: int) -> None:
    """prctl(2) of one argument."""
    zero = ctypes.c_ulong(0)
    done = _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero)
    _check(done, f"prctl {option}")


def _numbers() -> tuple[int, int]:
    machine = platform.machine()
    if machine not in _NUMBERS:
        raise OSError(38, f"no system call numbers are known for {machine}")
    return _NUMBERS[machine]


def _check(done: int, what: str) -> None:
    if done < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
