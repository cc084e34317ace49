"""Server-sent events: every change of what a person may see, by its revision. A browser that comes back says
the last one it saw (``Last-Event-ID``) and misses nothing; where that is too old it is told ``resync`` and
reads anew.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Final

import msgspec
from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse

from moorage.core.errors import NotAllowed, NotSignedIn, UsageError
from moorage.core.service.access import Actor, owns
from moorage.core.service.records import Change
from moorage.server.guard import actor_of, does
from moorage.server.parts import ServerParts, parts_of
from moorage.server.routes.router import router
from moorage.server.who import identify

ROUTES = router("events")
QUIET: Final = 15.0
"""Seconds after which a line is sent that says nothing, and it is asked whether the person still may
listen."""
PRIVATE: Final = ("session", "task", "token")
"""Kinds that are somebody's even where no owner is named: then they are the administrators'."""
ADMINISTRATORS: Final = ("user",)


@ROUTES.get("/events", openapi_extra=does("change.read"), response_class=StreamingResponse)
async def events(request: Request, after: Annotated[int | None, Query(ge=0)] = None) -> Response:
    """``ready`` with the revision it begins at; then ``change`` as ``{kind, id, op, at}``; ``resync`` where
    changes were missed. Begins after ``Last-Event-ID``, else ``after``, else now."""
    parts, actor = parts_of(request), actor_of(request)
    since = _since(request.headers.get("last-event-id"), after)
    if since is None:
        since = (await parts.service.changes.after(0, limit=1)).revision
    return StreamingResponse(_told(parts, request, actor, since), media_type="text/event-stream")


def visible(actor: Actor, change: Change) -> bool:
    """Whether a person may know of it."""
    if change.kind in ADMINISTRATORS:
        return actor.administrator or change.id == actor.user.id
    if change.owner_id == "" and change.kind not in PRIVATE:
        return True
    return owns(actor, change.owner_id)


def _since(header: str | None, after: int | None) -> int | None:
    if header is None or header == "":
        return after
    if not header.isdigit() or len(header) > 18:
        raise UsageError("it is no revision", field="Last-Event-ID", hint="send the id of the last event")
    return int(header)


async def _told(parts: ServerParts, request: Request, actor: Actor, since: int) -> AsyncIterator[bytes]:
    yield _event("ready", since, {"revision": since})
    changes = parts.service.changes
    while True:
        page = await changes.after(since)
        if page.too_old or since > page.revision:  # it is gone, or from another database
            since = page.revision
            yield _event("resync", since, {"revision": since})
            continue
        for change in page.changes:
            since = change.revision
            if visible(actor, change):
                shown = {"kind": change.kind, "id": change.id, "op": change.op, "at": change.at}
                yield _event("change", since, shown)
        if page.changes:
            continue
        if not await changes.wait(since, QUIET):
            if not await _still_allowed(parts, request, actor):
                return
            yield b": quiet\n\n"


async def _still_allowed(parts: ServerParts, request: Request, actor: Actor) -> bool:
    try:
        now = await identify(parts, request)
    except (NotSignedIn, NotAllowed):
        return False
    return now is not None and now.user.id == actor.user.id and now.user.role is actor.user.role


def _event(kind: str, revision: int, data: dict[str, object]) -> bytes:
    return b"event: %b\nid: %d\ndata: %b\n\n" % (kind.encode(), revision, msgspec.json.encode(data))
