"""Keeps containers to their memory limits from outside, where the kernel gives us no group that does
(``shim.cgroups``). Called by ``shim.main``; kills as the kernel does: the largest process of a container that
is over its limit, until it is not.

It looks several times a second, so what grows faster is over the limit for a moment. It counts what each
process has to itself (resident and not shared); files in memory volumes are not counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from .containers import Container

PAGE = os.sysconf("SC_PAGE_SIZE")
SELDOM, OFTEN = 0.25, 0.05
"""Seconds between two looks: while all are far below their limits, and else."""


def look(containers: Iterable[Container]) -> float:
    """Kill what is too large; returns the seconds until the next look, 0 when nothing here is limited."""
    limited = [
        each for each in containers if each.limit and not each.group and each.record["state"] == "running"
    ]
    if not limited:
        return 0.0
    sizes: dict[int, dict[int, int]] = {each.mount_namespace: {} for each in limited}
    for pid in _descendants(os.getpid()):
        try:
            sizes[os.stat(f"/proc/{pid}/ns/mnt").st_ino][pid] = _own_bytes(pid)
        except (OSError, KeyError, ValueError):
            continue  # ended meanwhile, or of a container without a limit
    close = False
    for container in limited:
        found = sizes[container.mount_namespace]
        used = sum(found.values())
        close = close or used > container.limit // 2
        if used > container.limit:
            container.out_of_memory(max(found, key=lambda pid: found[pid]))
    return OFTEN if close else SELDOM


def _own_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        _, resident, shared = file.read().split()[:3]
    return (int(resident) - int(shared)) * PAGE


def _descendants(pid: int) -> list[int]:
    """A process's children may be those of any of its threads."""
    found: list[int] = []
    queue = [pid]
    while queue:
        folder = f"/proc/{queue.pop()}/task"
        try:
            for thread in os.listdir(folder):
                with open(f"{folder}/{thread}/children") as file:
                    queue += (children := [int(word) for word in file.read().split()])
                    found += children
        except OSError:
            continue
    return found
