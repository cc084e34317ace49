"""What a removal will delete and keep, and the late look at creates that were never answered.

Called by ``sessions.verbs``. Deletes only what a most-recent read proves to be ours: by UID, and for a late
create by the nonce that was issued for it.
"""

from __future__ import annotations

import contextlib

from moorage.core import owned
from moorage.core.errors import ApiError, MoorageError
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.observed import Absent, Present, Unknown, from_problem
from moorage.core.plans.observation import Verdict
from moorage.core.session import IssuedNonce, Session, WorkspaceMode, change
from moorage.engine.observe import Observer
from moorage.ports.cluster import Cluster
from moorage.ports.sessions import Removal
from moorage.ports.store import Lease
from moorage.sessions.parts import Parts

LATE = 600.0
"""Seconds after which a create without an answer is looked for once more."""

RESOURCES = {resource.kind: resource for resource in (PODS, CLAIMS)}


async def planned(parts: Parts, session: Session) -> Removal:
    """What ``rm`` would do to the cluster, as it stands now."""
    inventory = session.inventory
    deletes: list[str] = []
    keeps: list[str] = []
    try:
        observer = Observer(await parts.executors.of(session), parts.clock)
        pod, claim = await observer.pod(session), await observer.claim(session)
    except MoorageError as error:
        return Removal(session.name, (), (f"unknown: {error.message}",))
    for kind, name, seen in (("pod", inventory.pod_name, pod), ("pvc", inventory.claim_name, claim)):
        if isinstance(seen, Absent) or not name:
            continue
        if isinstance(seen, Unknown):
            keeps.append(f"{kind}/{name} (unknown: {seen.why})")
            continue
        given = kind == "pvc" and inventory.snapshot.workspace.mode is not WorkspaceMode.MANAGED_PVC
        why = "not created by us" if given else "not ours"
        line = f"{kind}/{name} (uid {seen.value.uid})"
        if given or seen.value.verdict is Verdict.FOREIGN:
            keeps.append(f"{line}: {why}")
        else:
            deletes.append(line)
    return Removal(session.name, tuple(deletes), tuple(keeps))


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
            with contextlib.suppress(MoorageError):
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
