"""Proved creation: a nonce on record before the request, the admitted object compared after it.

Called by ``engine.act``. An ambiguous answer is never resolved here: the next observation reads by exact
name and adopts, rejects, blocks or creates again. Never deletes anything but the very object that a create
has returned, or that a read proves to be its answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from moorage.core import owned
from moorage.core.diagnosis import diagnose_api
from moorage.core.errors import ApiError
from moorage.core.kinds import Json, Resource
from moorage.core.observed import Absent, from_problem
from moorage.core.owned_fields import FieldConflict
from moorage.core.ownership import Altered, Compare, Judge
from moorage.core.plans.changes import own, spend
from moorage.core.session import Diagnosis, IssuedNonce, Session
from moorage.engine.failure import ActionFailed
from moorage.engine.mutators import find_mutators
from moorage.ports.clock import Clock, Ids
from moorage.ports.cluster import Cluster

Save = Callable[[Session], Awaitable[Session]]
Build = Callable[[Session, str], Json]

SEND_WITHIN = 30.0
"""Seconds after which a nonce is too old to be sent: far less than the time after which creates without an
answer are looked for the last time, so that a process which was stopped in between comes too late."""


class Creation:
    """Creates one object for a session, or finishes what a create was cut short in."""

    def __init__(self, cluster: Cluster, clock: Clock, ids: Ids, save: Save) -> None:
        self._cluster = cluster
        self._clock = clock
        self._ids = ids
        self._save = save

    async def create(
        self, session: Session, resource: Resource, name: str, build: Build, compare: Compare
    ) -> tuple[Session, str]:
        """The session as stored and the new object's UID. ``compare`` lists owned fields that differ after
        admission. Raises ActionFailed."""
        nonce, issued_at = self._ids.nonce(), self._clock.now()
        session = await self._save(_issue(session, resource.kind, name, nonce, issued_at))
        expected = build(session, nonce)
        try:
            admitted = await self._cluster.create(
                resource, expected, session.inventory.namespace, not_after=issued_at + SEND_WITHIN
            )
        except ApiError as error:
            if error.problem.sent == "no" and error.problem.reason != "AlreadyExists":
                await self._save(spend(session, nonce))  # else what exists may be the answer: sent twice
            raise ActionFailed(diagnose_api(error.problem, f"create {resource.kind} {name}")) from error
        conflicts = compare(expected, admitted)
        if conflicts:
            raise ActionFailed(await self._reject(session, resource, admitted, nonce, conflicts))
        return spend(session, nonce), admitted["metadata"]["uid"]

    async def reject(
        self, session: Session, resource: Resource, name: str, uid: str, build: Build, judge: Judge
    ) -> Session:
        """What ``create`` does with a changed object, for one whose create was cut short before that. The
        session as it is when there is no such object; else ActionFailed, which says that it was removed."""
        try:
            found = await self._cluster.get(resource, name, session.inventory.namespace)
        except ApiError as error:
            if isinstance(from_problem(error.problem, resource.plural, name), Absent):
                return session
            raise ActionFailed(diagnose_api(error.problem, f"read {resource.kind} {name}")) from error
        nonce = str((found["metadata"].get("annotations") or {}).get(owned.NONCE_ANNOTATION, ""))
        judged = judge(found, session.identity, session.inventory, build(session, nonce))
        if not isinstance(judged, Altered) or judged.uid != uid:
            return session
        raise ActionFailed(await self._reject(session, resource, found, nonce, judged.conflicts))

    async def _reject(
        self,
        session: Session,
        resource: Resource,
        admitted: Json,
        nonce: str,
        conflicts: tuple[FieldConflict, ...],
    ) -> Diagnosis:
        """Delete exactly this object, which never ran anything of ours; why it had to go."""
        name, uid = admitted["metadata"]["name"], admitted["metadata"]["uid"]
        namespace = session.inventory.namespace
        try:
            await self._cluster.delete(resource, name, namespace, uid=uid, grace_seconds=0)
        except ApiError as error:
            why = diagnose_api(error.problem, f"delete rejected {resource.kind} {name}")
            raise ActionFailed(why) from error
        await self._save(spend(session, nonce))
        who = await find_mutators(self._cluster, resource, admitted)
        return _mutated(resource, name, conflicts, who)


def _issue(session: Session, kind: str, name: str, nonce: str, now: float) -> Session:
    issued = IssuedNonce(kind=kind, name=name, nonce=nonce, issued_at=now)
    return own(session, nonces=(*session.inventory.nonces, issued))


def _mutated(
    resource: Resource, name: str, conflicts: tuple[FieldConflict, ...], who: list[str]
) -> Diagnosis:
    more = f" and {len(conflicts) - 1} more" if len(conflicts) > 1 else ""
    by = f" (likely: {', '.join(who[:3])})" if who else ""
    return Diagnosis(
        category="admission",
        reason="OwnedFieldMutated",
        message=f"an admission webhook or policy{by} changed {conflicts[0].field} of {resource.kind} {name}"
        f"{more}; the object was removed again",
        hint="exempt objects labelled app.kubernetes.io/managed-by=moorage from it; "
        "list candidates with: kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies",
        terminal=True,
    )
