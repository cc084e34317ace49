"""Files of a session's Pod, a path at a time: what ``cp`` does not do.

Part of ``ports.sessions`` (``SessionVerbs.filesystem``). Implemented in process by ``sessions.files`` over
the link; used by ``sdk``. Whole trees go by ``SessionVerbs.get_tar`` and ``put_tar``. Paths are absolute.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from moorage.ports.link import FileChange, FileEntry


class RemoteFiles(Protocol):
    """Every call raises Conflict when no Pod of the session runs, FileNotFound for a path that is not there
    (where that is no answer), HelperError for what the container's user may not do."""

    async def info(self, path: str, *, follow: bool = False) -> FileEntry:
        """``follow``: of what a link leads to, under that one's own path."""

    async def make_dir(self, path: str) -> bool:
        """With all that is missing above it; False when it is there already. Conflict when it is a file."""

    async def remove(self, path: str) -> None:
        """A file, a link itself, a directory with all below it. What is not there is no error."""

    async def rename(self, path: str, to: str) -> None:
        """A file at ``to`` is replaced; a filled directory is a Conflict."""

    def watch(self, path: str, *, recursive: bool = False) -> AsyncGenerator[FileChange | None, None]:
        """None first: from then on nothing is missed. Then changes without end; HelperError with
        ``details['code']`` ``limit`` when more happens at once than can be told."""
