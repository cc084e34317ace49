"""Users and rights of the processes in a Pod. Called by ``shim.spawn`` and ``shim.main``.

A node that runs as root maps every id to itself: containers run as whom they name, without rights over the
host's kernel. An ordinary user has one id: whatever a container asks for is that one under another number.
"""

from __future__ import annotations

import os
from typing import Any

from . import syscalls

ALL_IDS = 4294967295
LAST_CAPABILITY = 63

# What container runtimes grant by default; numbers of linux/capability.h.
CAPABILITIES = {
    "CHOWN": 0, "DAC_OVERRIDE": 1, "DAC_READ_SEARCH": 2, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6,
    "SETUID": 7, "SETPCAP": 8, "LINUX_IMMUTABLE": 9, "NET_BIND_SERVICE": 10, "NET_BROADCAST": 11,
    "NET_ADMIN": 12, "NET_RAW": 13, "IPC_LOCK": 14, "IPC_OWNER": 15, "SYS_MODULE": 16, "SYS_RAWIO": 17,
    "SYS_CHROOT": 18, "SYS_PTRACE": 19, "SYS_PACCT": 20, "SYS_ADMIN": 21, "SYS_BOOT": 22, "SYS_NICE": 23,
    "SYS_RESOURCE": 24, "SYS_TIME": 25, "SYS_TTY_CONFIG": 26, "MKNOD": 27, "LEASE": 28, "AUDIT_WRITE": 29,
    "AUDIT_CONTROL": 30, "SETFCAP": 31,
}  # fmt: skip
DEFAULT = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
           "NET_BIND_SERVICE", "NET_RAW", "SYS_CHROOT", "MKNOD", "AUDIT_WRITE", "SETFCAP")  # fmt: skip


def enter_user_namespace() -> None:
    """Put this process, and with it everything the Pod will run, into a user namespace of its own."""
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        _map_all()
    else:
        _map_one(0, uid, 0, gid)
    # Changing who one is hides a process from its own user; the shim looks into its children's /proc.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def _map_all() -> None:
    """Only somebody outside may map more than one id: a child that stays there writes the maps."""
    me, (read, write) = os.getpid(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(write)
            os.read(read, 1)
            for name in ("uid_map", "gid_map"):
                _write(f"/proc/{me}/{name}", f"0 0 {ALL_IDS}")
            os._exit(0)
        finally:
            os._exit(1)
    os.close(read)
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    os.write(write, b"x")
    os.close(write)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise OSError(1, "the ids of a user namespace could not be mapped")


def _map_one(inside_uid: int, uid: int, inside_gid: int, gid: int) -> None:
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{inside_uid} {uid} 1")
    _write("/proc/self/gid_map", f"{inside_gid} {gid} 1")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def become(user: dict[str, Any], *, namespaces: bool, privileged: bool) -> None:
    """Give up rights and become the container's user. ``user``: uid, gid, groups, add, drop, no_new_privs.

    In mode plain an ordinary user stays who it is.
    """
    uid, gid = int(user["uid"]), int(user["gid"])
    if namespaces and not privileged:
        _bound(user)
    if user.get("entered"):
        pass  # the container's own user namespace, whose id this already is
    elif single_id():
        if namespaces and (uid, gid) != (0, 0):
            _map_one(uid, 0, gid, 0)
    elif os.geteuid() == 0:
        os.setgroups([int(group) for group in user["groups"]])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    if user["no_new_privs"]:
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)


def single_id() -> bool:
    """Whether this process's user namespace maps one id alone."""
    with open("/proc/self/uid_map") as file:
        return int(file.read().split()[2]) == 1


def _bound(user: dict[str, Any]) -> None:
    drop = {name.upper().removeprefix("CAP_") for name in user["drop"]}
    add = {name.upper().removeprefix("CAP_") for name in user["add"]}
    if "ALL" in add:
        return
    kept = add | (set() if "ALL" in drop else set(DEFAULT) - drop)
    numbers = {CAPABILITIES[name] for name in kept if name in CAPABILITIES}
    for number in range(LAST_CAPABILITY + 1):
        if number not in numbers:
            try:
                syscalls.prctl(syscalls.PR_CAPBSET_DROP, number)
            except OSError:
                return  # past the last one that this kernel knows
