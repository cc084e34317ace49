"""ETag and If-Match: a change names the version of the row it was made from, so that nobody overwrites what
they have not seen. Missing is 428, older than the row is 412.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from moorage.core.errors import Conflict, Stale, UsageError, VersionNeeded
from moorage.core.service.records import Row
from moorage.ports.service import Rows


class Versioned(Protocol):
    @property
    def version(self) -> int: ...


V = TypeVar("V", bound=Versioned)


def tagged(response: Response, row: V) -> V:
    """Put the row's ETag on the answer."""
    response.headers["ETag"] = f'"{row.version}"'
    return row


def expect(request: Request, row: Versioned) -> None:
    """Raises VersionNeeded or Stale. ``*`` is whichever."""
    given = request.headers.get("if-match")
    if given is None:
        raise VersionNeeded(
            "a change needs the header If-Match",
            field="If-Match",
            hint="send the ETag that GET answered with",
        )
    tags = [tag.strip() for tag in given.split(",")]
    if not all(tag == "*" or (len(tag) > 2 and tag[0] == tag[-1] == '"') for tag in tags):
        raise UsageError(
            f"{given[:80]!r} is no ETag", field="If-Match", hint='it is written with its quotes: "3"'
        )
    if "*" not in tags and f'"{row.version}"' not in tags:
        raise _stale(row.version)


async def replace(rows: Rows[Row], row: Row) -> Row:
    """Store a row that ``expect`` let through; Stale when another change came in between."""
    try:
        return await rows.replace(row)
    except Conflict as error:
        if "version" in error.details and not isinstance(error, Stale):
            raise _stale(int(error.details["version"])) from None
        raise


def _stale(version: int) -> Stale:
    return Stale(
        "it was changed meanwhile",
        field="If-Match",
        hint="read it again, and make the change from that",
        details={"version": version},
    )
