"""Every route goes through here: who asks, may they, the audit row before and after, and the answer that a
repeated request gets. A route says its action with ``does``; one without cannot be made.

The order is the promise: nobody learns from a refusal more than they may see, and nothing is done that the
audit does not know of.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Final

from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response, StreamingResponse

from moorage.core.errors import MoorageError, NotAllowed, NotFound, NotSignedIn
from moorage.core.service.access import ACTIONS, Actor, Need, Verdict, decide
from moorage.server.owners import owner_of
from moorage.server.parts import ServerParts, parts_of
from moorage.server.problems import of_error
from moorage.server.repeats import once
from moorage.server.who import identify

ACTION: Final = "x-moorage-action"
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def does(action: str) -> dict[str, Any]:
    """``openapi_extra`` of a route: what it is, for access and audit."""
    if action not in ACTIONS:
        raise ValueError(f"no action is called {action}")
    return {ACTION: action}


class GuardedRoute(APIRoute):
    """``route_class`` of every router of this package."""

    def get_route_handler(self) -> Handler:
        handler = super().get_route_handler()
        action: str = (self.openapi_extra or {})[ACTION]

        async def guarded(request: Request) -> Response:
            return await Visit(parts_of(request), request, action).answer(handler)

        return guarded


class Visit:
    """One request, of whichever kind, on its way in and out."""

    def __init__(self, parts: ServerParts, request: HTTPConnection, action: str) -> None:
        self._parts = parts
        self._request = request
        self._action = action
        self._rule = ACTIONS[action]
        self._row = 0
        self._verdict = Verdict.UNKNOWN
        self.actor: Actor | None = None

    async def answer(self, handler: Handler) -> Response:
        """The handler's response, or the problem that kept it from being asked."""
        assert isinstance(self._request, Request)
        request = self._request
        try:
            await self.enter()
            response = await once(self._parts, request, self.actor, lambda: _told(handler, request))
        except Exception as error:
            response = of_error(error)
        except BaseException:
            await self.leave(0, "it was cut short")
            raise
        if isinstance(response, StreamingResponse) and response.status_code < 400:
            response.body_iterator = self._until_the_end(response.body_iterator, response.status_code)
            return response
        try:
            await self.leave(response.status_code)
        except Exception as error:  # what was done stays on record as begun
            return of_error(error)
        return response

    async def enter(self) -> None:
        """Raises what keeps this person from it. From its start on the audit knows of the attempt."""
        refusal: MoorageError | None = None
        try:
            if self._rule.need is not Need.NOBODY:
                self.actor = await identify(self._parts, self._request)
        except (NotSignedIn, NotAllowed) as error:
            refusal = error
        if self._rule.audited:
            actor, via = (self.actor.user.id, self.actor.via) if self.actor else ("", "")
            target = target_of(self._request.path_params)
            self._row = await self._parts.service.audit.begin(actor, via, self._action, target)
        if refusal is not None:
            raise refusal
        owner = None
        if self._rule.need is Need.OWNER and self.actor is not None:
            owner = await owner_of(self._parts, self._request.path_params)
        self._verdict = decide(self.actor, self._action, owner)
        self._raise_refusal()
        self._request.state.actor = self.actor

    def _raise_refusal(self) -> None:
        match self._verdict:
            case Verdict.UNKNOWN:
                raise NotSignedIn("nobody is signed in", hint="sign in, or send a token as Bearer")
            case Verdict.HIDDEN:
                raise NotFound(f"there is no {target_of(self._request.path_params)}")
            case Verdict.REFUSED:
                assert self.actor is not None
                raise _not_allowed(self.actor)
            case Verdict.ALLOWED:
                pass

    async def leave(self, status: int, detail: str = "") -> None:
        """Complete the audit's row. ``status`` 0: there was no answer."""
        if not self._row:
            return
        if self._verdict is not Verdict.ALLOWED:
            outcome = "refused"
        else:
            outcome = "allowed" if 0 < status < 400 or status == 101 else "failed"
        row, self._row = self._row, 0
        await self._parts.service.audit.complete(row, outcome, status, detail)

    async def _until_the_end(self, chunks: AsyncIterable[Any], status: int) -> AsyncIterator[Any]:
        detail = "it was cut short"
        try:
            async for chunk in chunks:
                yield chunk
            detail = ""
        finally:
            await self.leave(status, detail)


async def _told(handler: Callable[[Request], Awaitable[Response]], request: Request) -> Response:
    """A failure as its problem: a repeat of the request is told the same."""
    try:
        return await handler(request)
    except Exception as error:
        return of_error(error)


def _not_allowed(actor: Actor) -> NotAllowed:
    if actor.read_only:
        return NotAllowed("this token may only read", hint="use a token of scope full")
    return NotAllowed("only an administrator may do this", hint="ask one of this service's administrators")


def target_of(params: dict[str, Any]) -> str:
    """What a path names, for the audit and for "there is no …": ``session/abc``; "" for a whole
    collection."""
    if not params:
        return ""
    name, value = list(params.items())[-1]
    return f"{name.removesuffix('_id')}/{value}"[:200]


def actor_of(request: Request) -> Actor:
    """Who asks, in a route whose action needs a person."""
    actor: Actor = request.state.actor
    return actor
