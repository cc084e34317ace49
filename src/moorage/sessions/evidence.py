"""What is known of a session beside its record, for a report of a fault. Called by ``sessions.verbs``.

Reads only, and redacts nothing: whoever writes it down does (``cli.bundle``).
"""

from __future__ import annotations

from moorage.core.errors import ApiError, MoorageError
from moorage.core.kinds import PODS, Json
from moorage.core.session import Session
from moorage.ports.link import Gap
from moorage.ports.sessions import Evidence
from moorage.sessions.parts import Parts


async def evidence(parts: Parts, session: Session) -> Evidence:
    """The Pod as it is now, and which output is kept. A cluster that cannot be asked is said, not raised."""
    pod, unseen = await _pod(parts, session)
    transcripts = parts.store.transcripts
    end = await transcripts.end(session.id)
    first = await transcripts.read(session.id, 0, 1)
    gone = first[0].length or 0 if first and isinstance(first[0], Gap) else 0
    return Evidence(pod, unseen, gone, end)


async def _pod(parts: Parts, session: Session) -> tuple[Json | None, str]:
    inventory = session.inventory
    try:
        cluster = await parts.executors.of(session)
        return await cluster.get(PODS, inventory.pod_name, inventory.namespace), ""
    except ApiError as error:
        return None, "" if error.problem.http_status == 404 else error.message
    except MoorageError as error:
        return None, error.message
