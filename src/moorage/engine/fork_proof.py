"""What a fork is held to: the claim it is cloned from is there, and its workspace equals the other.

Called by ``engine.act``, before the claim is made and before the agent starts. Reads only; never touches the
other session.
"""

from __future__ import annotations

import asyncio

from moorage.core.diagnosis import diagnose_api
from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.errors import ApiError, LinkError
from moorage.core.kinds import CLAIMS
from moorage.core.observed import Absent, from_problem
from moorage.core.owned import WORKSPACE_PATH
from moorage.core.plans.fork import CLONE
from moorage.core.session import Diagnosis, Session, SourceSpec
from moorage.engine.failure import ActionFailed
from moorage.ports.cluster import Cluster
from moorage.ports.link import Link

HASH_LIMIT = 1800.0
"""Seconds in which agentctl has read all files of a workspace."""


async def check_origin(cluster: Cluster, session: Session) -> None:
    """Most-recent read of the claim to be cloned. Raises ActionFailed where it is not the recorded one: the
    claim made from another would be a copy of something else."""
    inventory = session.inventory
    try:
        found = await cluster.get(CLAIMS, inventory.clone_of, inventory.namespace)
    except ApiError as error:
        if isinstance(from_problem(error.problem, CLAIMS.plural, inventory.clone_of), Absent):
            raise ActionFailed(_origin_gone(session, "does not exist any more")) from error
        raise ActionFailed(diagnose_api(error.problem, f"read claim {inventory.clone_of}")) from error
    if found["metadata"]["uid"] != inventory.clone_of_uid:
        raise ActionFailed(_origin_gone(session, "is another one by now"))
    if found["metadata"].get("deletionTimestamp"):
        raise ActionFailed(_origin_gone(session, "is being deleted"))


async def prove_equal(session: Session, link: Link) -> None:
    """Raises ActionFailed where the workspace is not equal to the one it was made from, LinkError where
    agentctl does not say."""
    source = session.source
    assert source is not None
    if source.method == CLONE and source.marker and await link.marker(WORKSPACE_PATH) != source.marker:
        raise ActionFailed(_unequal(session, source, "it does not bear the marker of that workspace"))
    if not source.tree:
        return
    try:
        async with asyncio.timeout(HASH_LIMIT):
            found = await link.hash_tree(WORKSPACE_PATH)
    except TimeoutError:
        raise LinkError(f"agentctl has not hashed the workspace within {HASH_LIMIT:.0f} s") from None
    if found != source.tree:
        raise ActionFailed(_unequal(session, source, f"its hash is {found[:12]}, not {source.tree[:12]}"))


def _origin_gone(session: Session, why: str) -> Diagnosis:
    return diagnosis(
        "claim",
        "CloneSourceGone",
        f"claim {session.inventory.clone_of}, that this workspace was to be cloned from, {why}",
        hint=f"nothing was made of it; remove this session: moorage rm {session.name}",
        terminal=True,
    )


def _unequal(session: Session, source: SourceSpec, why: str) -> Diagnosis:
    cloned = source.method == CLONE
    how = "the storage driver made no true clone" if cloned else "the copy is not true"
    other = f" --method copy {source.location}" if cloned else f" {source.location}"
    return diagnosis(
        "integrity",
        "ForkUnequal",
        f"{how}: {why}; the agent was not started",
        hint=f"remove it: moorage rm {session.name}; then moorage fork{other}",
        terminal=True,
    )
