"""Is a session as it is wished to be, so that nothing is left to do? Asked by ``sessions.verbs`` before a
wish goes on record. Looks for a few seconds only: an ended agent needs no cluster.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from moorage.core.errors import MoorageError
from moorage.core.observed import Unknown
from moorage.core.session import Desired, Intent, Phase, Session
from moorage.engine.observe import Observer
from moorage.sessions.parts import Parts
from moorage.sessions.views import GLANCE


@dataclass(frozen=True)
class Already:
    """It is: ``said`` to a person. ``unknown``: why the cluster could not be asked, if it was."""

    said: str
    unknown: str = ""


def keeps_on(intent: Intent, desired: Desired) -> bool:
    """Is a removal wished of a session whose removal was begun with the word to keep its workspace? Whoever
    goes on with it, in whatever words, must not destroy what a person said shall stay; ``resume`` takes it
    back."""
    gone = (Desired.ARCHIVED, Desired.DELETED)
    return intent.keep_workspace and intent.desired in gone and desired in gone


async def already(parts: Parts, session: Session, desired: Desired) -> Already | None:
    """For stop and pause of a session in which nothing runs; None when there is something to do or to see."""
    over = session.state.phase is Phase.PRESERVED and session.seen_intent >= session.intent.number
    released = session.state.pod == "released"
    if not over or desired not in (Desired.STOPPED, Desired.PAUSED):
        return None
    if released and desired is Desired.STOPPED:
        return Already(f"{session.name} is paused already: nothing of it runs, and its Pod is released")
    if desired is Desired.PAUSED and not released:
        return None
    why = await _unanswered(parts, session)
    if not why:
        return None
    word = "paused" if released else "stopped"
    return Already(f"{session.name} is {word} already by the record; the cluster was not asked: {why}", why)


def nothing_done(before: Session, after: Session, desired: Desired) -> str:
    """What to say of a wish that was carried out, and changed nothing: everything was so before. "": it did
    change something."""
    steady = before.seen_intent >= before.intent.number and before.run == after.run
    same = (before.state.phase, before.state.pod) == (after.state.phase, after.state.pod)
    if not (steady and same):
        return ""
    if desired is Desired.RUNNING and after.state.phase is Phase.RUNNING:
        return f"{after.name} is running already: nothing was done"
    if after.state.phase is not Phase.PRESERVED:
        return ""
    if desired is Desired.STOPPED:
        return f"{after.name} is stopped already: nothing was done"
    if desired is Desired.PAUSED:
        return f"{after.name} is paused already: nothing was done"
    return ""


async def _unanswered(parts: Parts, session: Session) -> str:
    try:
        observer = Observer(await parts.executors.of(session), parts.clock)
        async with asyncio.timeout(GLANCE):
            same = await observer.same_cluster(session.inventory)
    except TimeoutError:
        return f"{session.inventory.server_address} did not answer within {GLANCE:.0f} s"
    except MoorageError as error:
        return error.message
    return same.why if isinstance(same, Unknown) else ""
