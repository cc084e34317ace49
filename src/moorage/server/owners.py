"""Whose a thing is that a path names: of a session its task's owner, of a token its person.

Called by ``server.guard`` and the terminal before anything else is read.
"""

from __future__ import annotations

from collections.abc import Mapping

from moorage.core.errors import NotFound
from moorage.core.session import Phase, Session
from moorage.server.parts import ServerParts

AD_HOC: str = "run-"
"""Task ids that the command line derives: there is no such task."""


async def owner_of(parts: ServerParts, params: Mapping[str, str]) -> str | None:
    """None: it is not there. "": made by the command line, without a task."""
    try:
        if "session_id" in params:
            return await owner_of_session(parts, await session_of(parts, params["session_id"]))
        if "task_id" in params:
            return (await parts.service.tasks.get(params["task_id"])).owner_id
        if "token_id" in params:
            return (await parts.service.tokens.get(params["token_id"])).user_id
    except NotFound:
        return None
    return None


async def session_of(parts: ServerParts, session_id: str) -> Session:
    """By its id alone: a name may come to be another's. NotFound for one that is deleted."""
    session = await parts.store.sessions.get(session_id)
    if session.id != session_id or session.state.phase is Phase.DELETED:
        raise NotFound(f"no session is called {session_id}")
    return session


async def owner_of_session(parts: ServerParts, session: Session) -> str:
    task_id = session.identity.task_id
    if task_id.startswith(AD_HOC):
        return ""
    try:
        return (await parts.service.tasks.get(task_id)).owner_id
    except NotFound:  # its task was deleted once the session was over
        return ""
