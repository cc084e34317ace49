"""Where ``cp`` copies from and to: ``SESSION:/path``, a local path, or ``-``. Pure."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from moorage.core.command import check_text
from moorage.core.errors import UsageError
from moorage.core.owned import WORKSPACE_PATH


@dataclass(frozen=True)
class Remote:
    """A path in a session, absolute and normalised. ``into``: it was written with a trailing slash, so it
    must be a directory. ``contents``: written with ``/.``, its contents are meant and not itself."""

    session: str
    path: str
    into: bool = False
    contents: bool = False


@dataclass(frozen=True)
class Local:
    """A path of this machine; ``-`` is a standard stream that carries tar."""

    path: str

    @property
    def is_stream(self) -> bool:
        return self.path == "-"


def parse_place(text: str) -> Remote | Local:
    """``NAME:PATH`` unless a slash or dot comes before the colon. Raises UsageError for an empty part, and
    for a name or path in a session that is not UTF-8."""
    head, colon, path = text.partition(":")
    if not colon or "/" in head or head.startswith("."):
        if not text:
            raise UsageError("a path to copy is empty", hint="moorage cp NAME:/workspace/file .")
        return Local(text)
    if not head:
        raise UsageError(
            f"{text!r} lacks a session name",
            hint="write NAME:/path; a local file with a colon in its name as ./name:with:colon",
        )
    check_text(text, "a name or path in a session", field="NAME:/path")
    if "\0" in path:
        raise UsageError("a path holds a NUL byte")
    return Remote(
        session=head,
        # As with scp, nothing after the colon is the directory itself.
        path=posixpath.normpath(posixpath.join(WORKSPACE_PATH, path)),
        into=path.endswith("/"),
        contents=path == "." or path.endswith("/."),
    )


def parse_pair(source: str, target: str) -> tuple[Remote, Local] | tuple[Local, Remote]:
    """Exactly one side is in a session."""
    one, other = parse_place(source), parse_place(target)
    if isinstance(one, Remote) and isinstance(other, Local):
        return one, other
    if isinstance(one, Local) and isinstance(other, Remote):
        return one, other
    if isinstance(one, Remote):
        raise UsageError("both sides are in sessions", hint="copy to this machine first, then from it")
    raise UsageError("neither side is in a session", hint="write NAME:/path on one side")
