"""What agentctl answers instead of a result, as errors of the tree. Used by ``engine.link`` only."""

from __future__ import annotations

from moorage.core.errors import (
    Conflict,
    Fenced,
    FileNotFound,
    HelperError,
    IntegrityError,
    LinkError,
    MoorageError,
    NotEnoughSpace,
    NotFound,
    UsageError,
)

_TREE: dict[str, type[MoorageError]] = {
    "fenced": Fenced,
    "conflict": Conflict,
    "not_running": Conflict,
    "not_found": FileNotFound,
    "no_space": NotEnoughSpace,
    "unreachable": NotFound,
    "integrity": IntegrityError,
    "usage": UsageError,
    "broken": LinkError,
}
_HINTS = {
    "fenced": "another process commands this session by now. If you know of none, this data folder is "
    "an old copy (a backup, a snapshot put back): use the newer one (MOORAGE_DATA_DIR)",
    "no_space": "free space on the volume or ask for a larger workspace",
    "denied": "the container's user has no right to that path",
    "hostile": "the archive was made to write outside its directory; nothing was unpacked",
    "limit": "raise the limit if the size is expected",
    "unknown_operation": "the helper in this Pod is older; reset the session to get this release's",
    "busy": "too much goes on over this link at once; try again",
}


def remote_error(code: str, message: str) -> MoorageError:
    """The error for a failure's stable code; ``details['code']`` keeps it."""
    kind = _TREE.get(code, HelperError)
    return kind(message or code, hint=_HINTS.get(code, ""), details={"code": code})
