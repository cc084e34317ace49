"""Memory volumes with a size limit: each is a tmpfs in the mount namespace of the Pod's shim. Called by
``shim.main`` and ``shim.containers``.

Containers get their mounts from the shim, so all of them see it and it outlives each; with the shim it goes,
as it goes with a machine that is switched off. From outside it is seen through ``/proc/SHIM/root``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

from . import syscalls
from .spawn import StartError

FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV


def enter_mount_namespace() -> None:
    """Mounts made from now on are this process's and those of what it starts."""
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("none", "/", flags=syscalls.MS_REC | syscalls.MS_SLAVE)


def limit(volumes: Iterable[dict[str, Any]]) -> None:
    """Mount what is not mounted yet. A volume: ``path``, ``size`` in bytes. Raises StartError."""
    for volume in volumes:
        path, folder = volume["path"], os.stat(volume["path"])
        if folder.st_dev != os.stat(os.path.dirname(path)).st_dev:
            continue
        try:
            syscalls.mount("tmpfs", path, "tmpfs", FLAGS, f"size={volume['size']},mode=0700")
        except OSError as error:
            raise StartError(f"a memory volume could not be made: {error}") from None
        with contextlib.suppress(OSError):  # where one user is mapped, all belongs to that one
            os.chown(path, folder.st_uid, folder.st_gid)
        os.chmod(path, folder.st_mode & 0o7777)
