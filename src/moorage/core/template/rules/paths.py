"""Paths inside a container as a runtime understands them."""

from __future__ import annotations

import posixpath

from moorage.core.owned import OWNED_PATHS


def normal_path(path: str) -> str:
    """The path a runtime mounts at: made absolute, without ``.``, ``..`` and repeated slashes."""
    return posixpath.normpath("/" + path.lstrip("/"))


def owned_above(path: str) -> str | None:
    """The path of ours that ``path`` is at or under, if any."""
    normal = normal_path(path)
    # In nearly every image /var/run is a link to /run, and a runtime follows it.
    normal = normal.removeprefix("/var") if normal.startswith("/var/run/") else normal
    return next((owned for owned in OWNED_PATHS if normal == owned or normal.startswith(owned + "/")), None)
