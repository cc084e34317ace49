"""What a removal will delete and keep, and the late look at creates that were never answered.

Called by ``sessions.verbs``. Deletes only what a most-recent read proves to be the answer to a create of
ours, by its UID.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime

from moorage.core.errors import MoorageError, UsageError
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.plans.observation import ClaimSeen, PodSeen, Verdict
from moorage.core.session import Desired, IssuedNonce, Session, WorkspaceMode, change
from moorage.engine.observe import Observer
from moorage.ports.sessions import Removal
from moorage.ports.store import Lease
from moorage.sessions.parts import Parts
from moorage.sessions.unreadable import may_be_left

LATE = 600.0
"""Seconds after which a create without an answer is looked for once more. Nothing is sent later than
``engine.creation.SEND_WITHIN`` after its nonce was issued, so the API server had most of this time for it.
What it carries out later still is not found any more (docs/sessions.md)."""

LOOK_LIMIT = 10.0
"""Seconds for one such look: its cluster may be gone for good, and the command is about something else."""

ANSWERS = (Verdict.ADOPTABLE, Verdict.ALTERED)
"""What proves that an object is the answer to a create of ours."""


async def planned(parts: Parts, session: Session, *, force: bool = False, keep: bool = False) -> Removal:
    """What ``rm`` would do to the cluster, as it stands now; where that cannot be seen, what is on record,
    what would be tried, and how it ends without an answer. UsageError where ``keep`` cannot be."""
    _check_keep(session, keep)
    try:
        observer = Observer(await parts.executors.of(session), parts.clock)
        match await observer.same_cluster(session.inventory):
            case Absent():
                return Removal(session.name, (), ())  # all of it went with its namespace
            case Present(False):
                return Removal(session.name, (), ("unknown: this is not the recorded cluster or namespace",))
            case Unknown(why):
                return _unseen(parts, session, why, force, denied=_denied(observer))
        pod = await observer.pod(session)
        claim: Observed[ClaimSeen] = pod if isinstance(pod, Unknown) else await observer.claim(session)
        if isinstance(pod, Unknown):
            return _unseen(parts, session, pod.why, force, denied=_denied(observer))
    except MoorageError as error:
        return _unseen(parts, session, error.message, force)
    inventory = session.inventory
    given = inventory.snapshot.workspace.mode is not WorkspaceMode.MANAGED_PVC
    kept = _why_kept(pod)
    of_pod = _fate(f"pod/{inventory.pod_name}", pod, kept)
    why = "not created by us" if given else _why_kept(claim)
    if kept and isinstance(pod, Present) and pod.value.holds_claim:
        why = why or "the Pod above uses it"
    if keep and not given:
        why = why or f"kept as asked, for: moorage run --claim {inventory.claim_name}"
    of_claim = _fate(f"pvc/{inventory.claim_name}", claim, why)
    fates = [fate for fate in (of_pod, of_claim) if fate is not None]
    deletes = tuple(line for line, goes in fates if goes)
    return Removal(session.name, deletes, tuple(line for line, goes in fates if not goes))


def _check_keep(session: Session, keep: bool) -> None:
    if keep and session.inventory.snapshot.workspace.mode is WorkspaceMode.EMPTY_DIR:
        raise UsageError(
            f"the workspace of {session.name} is an emptyDir, which goes with its Pod",
            field="--keep-workspace",
            hint=f"copy it out first: moorage cp {session.name}:/. DIRECTORY",
        )


def _denied(observer: Observer) -> bool:
    failure = observer.failure
    return failure is not None and failure.problem.http_status in (401, 403)


def _unseen(parts: Parts, session: Session, why: str, force: bool, *, denied: bool = False) -> Removal:
    """The cluster does not tell. Nothing is deleted unseen: so all of it is kept until it was seen."""
    state, intent = session.state, session.intent
    known = f"on record, {state.phase.value} since {_moment(state.since)}"
    fate = "would be looked for, and deleted only if it is still that one"
    lines = [f"unknown: {why}", *(f"{line}: {known}; {fate}" for line in may_be_left(session))]
    if intent.desired in (Desired.ARCHIVED, Desired.DELETED):
        lines.append(f"to be {intent.desired.value} since {_moment(intent.at)}: asked for, not finished")
    if denied:
        lines.append("a refusal is an answer: nothing is removed until the right is granted")
    else:
        then = "the record alone goes, with output and history" if force else "nothing is removed"
        lines.append(f"no answer within {parts.patience:.0f} s: {then}")
    return Removal(session.name, (), tuple(lines))


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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
    objects whose create got no answer, of sessions archived or deleted since. Best effort: what cannot be
    reached now is looked for by a later command."""
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
    """The one late look: what answers a create of these is deleted by its UID, then they are settled. What
    cannot be read now is looked for another time."""
    cluster, inventory = await parts.executors.of(session), session.inventory
    observer = Observer(cluster, parts.clock)
    if await observer.same_cluster(inventory) != Present(True):
        return
    looked = {issued.nonce for issued in due}
    found = (
        (PODS, inventory.pod_name, await observer.pod(session)),
        (CLAIMS, inventory.claim_name, await observer.claim(session)),
    )
    for resource, name, seen in found:
        if isinstance(seen, Present) and seen.value.nonce in looked and seen.value.verdict in ANSWERS:
            await cluster.delete(resource, name, inventory.namespace, uid=seen.value.uid)
    if any(isinstance(seen, Unknown) for _, _, seen in found):
        return
    nonces = tuple(change(n, settled=True) if n.nonce in looked else n for n in inventory.nonces)
    settled = change(session, inventory=change(inventory, nonces=nonces))
    await parts.store.sessions.save(settled, lease)
