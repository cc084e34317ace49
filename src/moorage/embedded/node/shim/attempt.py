"""Tries whether this machine lets us build a container; run by ``runtime.detect``, prints why not."""

from __future__ import annotations

import os
import sys

from . import mounts, syscalls, users
from .containers import NAMESPACES


def main() -> None:
    """``attempt FOLDER``: exit code 0 when a container can be built and ``/bin/sh`` or ``true`` runs in
    it.
    """
    work = sys.argv[1]
    user = {"uid": 1000, "gid": 1000, "groups": [], "add": [], "drop": [], "no_new_privs": False,
            "privileged": False}  # fmt: skip
    spec = {
        "root": {"image": "", "work": work, "hide": [work], "read_only": False},
        "mounts": [], "hostname": "attempt", "cgroup": os.path.join(work, "cgroup"), "user": user,
    }  # fmt: skip
    try:
        users.enter_user_namespace()
        syscalls.unshare(NAMESPACES | syscalls.CLONE_NEWPID)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                mounts.build(spec)
                users.become(user, namespaces=True, privileged=False)
                code = 0 if os.listdir("/usr") and os.getuid() == 1000 else 1
            except OSError as error:
                os.write(1, f"{error}\n".encode())
            finally:
                os._exit(code)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    except OSError as error:
        os.write(1, f"{error}\n".encode())
        sys.exit(1)
