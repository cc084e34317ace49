"""What a session has changed in a repository, and where it was taken to. Part of ``ports.sessions``.

Implemented in process by ``sessions.changes``; used by the CLI, later by REST, console and SDK.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ChangedFile:
    """``status``: A (new), M (other content or mode), D (gone), T (other kind). ``added`` and ``deleted``
    lines; None for a binary file."""

    path: str
    status: str
    added: int | None
    deleted: int | None


@dataclass(frozen=True)
class Changes:
    """The workspace against ``commit`` of ``repository``. ``patch``: what ``git apply`` takes onto it; b""
    when nothing is changed."""

    session: str
    commit: str
    repository: str
    files: tuple[ChangedFile, ...]
    patch: bytes = field(repr=False)


@dataclass(frozen=True)
class ExportedBranch:
    """``branch`` of ``repository``: ``commit``, with ``base`` as its only parent. ``files``: how many."""

    session: str
    repository: str
    branch: str
    base: str
    commit: str
    files: int
