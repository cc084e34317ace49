"""What a removal will delete and keep, and the late look at creates that were never answered.

Called by ``sessions.verbs``. Deletes only what a most-recent read proves to be ours: by UID, and for a late
create by the nonce that was issued for it.
"""

from __future__ import annotations

import asyncio
import contextlib

from moorage.core import owned
from moorage.core.errors import ApiError, MoorageError
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.observed import Absent, Observed, Present, Unknown, from_problem
from moorage.core.plans.observation import ClaimSeen, PodSeen, Verdict
from moorage.core.session import IssuedNonce, Session, WorkspaceMode, change
from moorage.engine.observe import Observer
from moorage.ports.cluster import Cluster
from moorage.ports.sessions import Removal
from moorage.ports.store import Lease
from moorage.sessions.parts import Parts

LATE = 600.0
"""Seconds after which a create without an answer is looked for once more."""

LOOK_LIMIT = 10.0
"""Seconds for one such look: its cluster may be gone for good, and the command is about something else."""

RESOURCES = {resource.kind: resource for resource in (PODS, CLAIMS)}


async def planned(parts: Parts, session: Session) -> Removal:
    """What ``rm`` would do to the cluster, as it stands now."""
    try:
        observer = Observer(await parts.executors.of(session), parts.clock)
        pod = await observer.pod(session)
        claim: Observed[ClaimSeen] = pod if isinstance(pod, Unknown) else await observer.claim(session)
    except MoorageError as error:
        return Removal(session.name, (), (f"unknown: {error.message}",))
    inventory = session.inventory
    given = inventory.snapshot.workspace.mode is not WorkspaceMode.MANAGED_PVC
    kept = _why_kept(pod)
    of_pod = _fate(f"pod/{inventory.pod_name}", pod, kept)
    why = "not created by us" if given else _why_kept(claim)
    if kept and isinstance(pod, Present) and pod.value.holds_claim:
        why = why or "the Pod above uses it"
    of_claim = _fate(f"pvc/{inventory.claim_name}", claim, why)
    fates = [fate for fate in (of_pod, of_claim) if fate is not None]
    deletes = tuple(line for line, goes in fates if goes)
    return Removal(session.name, deletes, tuple(line for line, goes in fates if not goes))


def _fate(what: str, seen: Observed[PodSeen] | Observed[ClaimSeen], kept: str) -> tuple[str, bool] | None:
    """A line for a person, and whether the object goes; None when there is none."""
    match seen:
        case Absent():
            return None
        case Unknown(why):
            return f"{what} (unknown: {why})", False
        case Present(value):
            line = f"{what} (uid {value.uid})"
            return (f"{line}: {kept}", False) if kept else (line, True)


def _why_kept(seen: Observed[PodSeen] | Observed[ClaimSeen]) -> str:
    if not isinstance(seen, Present) or seen.value.verdict is not Verdict.FOREIGN:
        return ""
    return f"not ours: {seen.value.conflict}"


async def sweep(parts: Parts) -> None:
    """What killed commands and late answers left behind: sources of sessions that never came on record, and
    objects whose create got no answer, of sessions deleted since. Best effort: what cannot be reached now is
    looked for by a later command."""
    await parts.sources.sweep(lambda: _on_record(parts))
    for session in await parts.store.sessions.tombstones():
        due = [
            n for n in session.inventory.nonces if not n.settled and parts.clock.now() - n.issued_at > LATE
        ]
        if not due:
            continue
        lease = await parts.store.leases.acquire(session.id, parts.owner)
        if lease is None:
            continue
        try:
            with contextlib.suppress(MoorageError, TimeoutError):
                async with asyncio.timeout(LOOK_LIMIT):
                    await _settle(parts, session, due, lease)
        finally:
            await parts.store.leases.release(lease)


async def _on_record(parts: Parts) -> set[str]:
    return await parts.store.sessions.ids()  # also of unreadable records: their sources are not left-overs


async def _settle(parts: Parts, session: Session, due: list[IssuedNonce], lease: Lease) -> None:
    cluster = await parts.executors.of(session)
    if await Observer(cluster, parts.clock).same_cluster(session.inventory) != Present(True):
        return
    for issued in due:
        await _delete_late(cluster, session, issued)
    looked = {issued.nonce for issued in due}
    nonces = tuple(change(n, settled=True) if n.nonce in looked else n for n in session.inventory.nonces)
    inventory = change(session.inventory, nonces=nonces)
    await parts.store.sessions.save(change(session, inventory=inventory), lease)


async def _delete_late(cluster: Cluster, session: Session, issued: IssuedNonce) -> None:
    resource, namespace = RESOURCES[issued.kind], session.inventory.namespace
    try:
        found = await cluster.get(resource, issued.name, namespace)
    except ApiError as error:
        if isinstance(from_problem(error.problem, resource.plural, issued.name), Absent):
            return
        raise
    if (found["metadata"].get("annotations") or {}).get(owned.NONCE_ANNOTATION) == issued.nonce:
        await cluster.delete(resource, issued.name, namespace, uid=found["metadata"]["uid"])
