"""Waiting until a session is as somebody wants it. Used by ``wait``.

While it waits, from the second look on, it also drives a session that no other command drives, as
``attach`` does: else nobody would notice that an agent has ended. It shows no output, and none counts as
delivered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from moorage.cli.watching import looks
from moorage.core.errors import MoorageError, NotFound, SessionFailed, WaitTimeout
from moorage.core.session import Phase
from moorage.ports.sessions import SessionVerbs, SessionView

DELETED: Final = "deleted"
_WORDS: Final = ("starting", "running", "paused", "unhealthy", "stopping", "stopped", "failed", "unknown")


def _has_word(word: str) -> Callable[[SessionView], bool]:
    return lambda view: view.word.lower() == word


CONDITIONS: Final[dict[str, Callable[[SessionView], bool]]] = {
    **{word: _has_word(word) for word in _WORDS},
    "exited": lambda view: view.session.run is not None and view.session.run.exit is not None,
    "archived": lambda view: view.session.state.phase is Phase.ARCHIVED,
    DELETED: lambda view: False,
}
"""What can be waited for. A deleted session has no view."""
_LASTING: Final = (Phase.FAILED, Phase.LOST, Phase.ARCHIVED)
"""Phases that nothing leaves by itself."""


async def wait_for(sessions: SessionVerbs, name: str, condition: str, limit: float) -> SessionView | None:
    """The view for which it held; None for a session that is not there, where that was waited for.

    Raises WaitTimeout after ``limit`` seconds (0: after one look), SessionFailed for a session that cannot
    come to it without a person, NotFound.
    """
    view: SessionView | None = None
    first = True
    async with contextlib.AsyncExitStack() as driven:
        async for view in looks(lambda: _look(sessions, name, condition), limit):
            if view is None or CONDITIONS[condition](view):
                return view  # one that was so already is not driven at all: a look changes nothing
            _check_hope(view, condition)
            if limit > 0 and first:
                first = False
                await driven.enter_async_context(_driven(sessions, name))
    assert view is not None, "there is always a first look"
    raise WaitTimeout(
        f"session {name} is still {view.word}, not {condition}, at the end of the time limit",
        hint=f"wait longer with --timeout, or see why: moorage describe {name}",
    )


async def _look(sessions: SessionVerbs, name: str, condition: str) -> SessionView | None:
    try:
        return await sessions.view(name)
    except NotFound:
        if condition == DELETED:
            return None
        raise


def _check_hope(view: SessionView, condition: str) -> None:
    phase, session = view.session.state.phase, view.session
    if phase not in _LASTING or condition in (DELETED, "archived", "unknown"):
        return
    if session.seen_intent < session.intent.number:
        return  # somebody wished something of it just now
    why = f": {view.diagnosis.message}" if view.diagnosis is not None else ""
    raise SessionFailed(
        f"session {session.name} is {phase.value} and will not be {condition}{why}",
        hint=view.diagnosis.hint if view.diagnosis is not None else f"moorage describe {session.name}",
    )


@contextlib.asynccontextmanager
async def _driven(sessions: SessionVerbs, name: str) -> AsyncIterator[None]:
    """Drive the session as long as it is waited for, where nobody else does."""
    attachment = sessions.attach(name, watching=True)

    async def follow() -> None:
        with contextlib.suppress(MoorageError):  # how it stands is told by the looks
            async for _ in attachment.happenings():
                pass

    following = asyncio.create_task(follow())
    try:
        yield
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await attachment.close()
