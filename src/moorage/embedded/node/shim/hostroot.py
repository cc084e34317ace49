"""What of the host's root a container gets to see, as a list of mounts. Called by ``shim.mounts``.

Programs and their configuration, each under an overlay; nothing that belongs to people (``/home``, ``/root``,
``/tmp``, ``/run``, ``/mnt`` …) and nothing at or below a hidden folder. Only looks, never mounts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt", "var", "nix", "gnu")
"""What a program may need. The rest of the root is the container's own and starts empty."""

ABSENT = ("var/tmp", "var/mail", "var/spool", "var/lib/docker", "var/lib/containerd", "var/lib/kubelet")
"""Below TOP, but of no use to a program, or somebody's."""


class Layer(NamedTuple):
    """``kind``: overlay, folder (empty, the container's), file (read-only bind) or link; ``path``: absolute;
    ``link``: where a link leads."""

    kind: str
    path: str
    link: str = ""


def layers(hidden: Sequence[str], mountpoints: Sequence[str], root: str = "/") -> list[Layer]:
    """The mounts of a container's root in order, parents first.

    An overlay shows one file system and may not have other mounts below it, so a directory that holds a
    mount, or something hidden, is made of its children one by one.
    """
    absent = (os.path.join(root, name) for name in ABSENT)
    hide = frozenset([*hidden, *(path for path in absent if os.path.isdir(path))])
    apart = frozenset([*hide, *mountpoints])
    found: list[Layer] = []
    for name in TOP:
        found += _layer(os.path.join(root, name), hide, apart)
    return found


def _layer(path: str, hide: frozenset[str], apart: frozenset[str]) -> Iterator[Layer]:
    if os.path.islink(path):
        yield Layer("link", path, os.readlink(path))
    elif path in hide:
        return
    elif os.path.isdir(path):
        if not any(other.startswith(path + "/") for other in apart):
            yield Layer("overlay", path)
            return
        yield Layer("folder", path)
        for name in _names(path):
            yield from _layer(os.path.join(path, name), hide, apart)
    elif os.path.isfile(path):
        yield Layer("file", path)


def _names(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []  # what the node's user may not list, its containers do not see


def mountpoints() -> list[str]:
    """Where something is mounted on this host, as this process sees it."""
    with open("/proc/self/mountinfo") as file:
        return [line.split(" ")[4].encode().decode("unicode_escape") for line in file]
