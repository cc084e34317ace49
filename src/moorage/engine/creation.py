"""Proved creation: a nonce on record before the request, the admitted object compared after it.

Called by ``engine.act``. An ambiguous answer is never resolved here: the next observation reads by exact
name and adopts, blocks or creates again. Never deletes anything but the very object that a create has
just returned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from moorage.core.diagnosis import diagnose_api
from moorage.core.errors import ApiError
from moorage.core.kinds import Json, Resource
from moorage.core.owned_fields import FieldConflict
from moorage.core.plans.changes import own, spend
from moorage.core.session import Diagnosis, IssuedNonce, Session
from moorage.engine.failure import ActionFailed
from moorage.engine.mutators import find_mutators
from moorage.ports.clock import Clock, Ids
from moorage.ports.cluster import Cluster

Save = Callable[[Session], Awaitable[Session]]
Build = Callable[[Session, str], Json]
Compare = Callable[[Json, Json], tuple[FieldConflict, ...]]


class Creation:
    """Creates one object for a session. ``compare`` lists owned fields that differ after admission."""

    def __init__(self, cluster: Cluster, clock: Clock, ids: Ids, save: Save) -> None:
        self._cluster = cluster
        self._clock = clock
        self._ids = ids
        self._save = save

    async def create(
        self, session: Session, resource: Resource, name: str, build: Build, compare: Compare
    ) -> tuple[Session, str]:
        """The session as stored and the new object's UID. Raises ActionFailed."""
        nonce = self._ids.nonce()
        session = await self._save(_issue(session, resource.kind, name, nonce, self._clock.now()))
        expected = build(session, nonce)
        try:
            admitted = await self._cluster.create(resource, expected, session.inventory.namespace)
        except ApiError as error:
            if error.problem.sent == "no" and error.problem.reason != "AlreadyExists":
                await self._save(spend(session, nonce))  # else what exists may be the answer: sent twice
            raise ActionFailed(diagnose_api(error.problem, f"create {resource.kind} {name}")) from error
        conflicts = compare(expected, admitted)
        if conflicts:
            await self._reject(session, resource, name, admitted)
            await self._save(spend(session, nonce))
            who = await find_mutators(self._cluster, resource, admitted)
            raise ActionFailed(_mutated(resource, name, conflicts, who))
        return spend(session, nonce), admitted["metadata"]["uid"]

    async def _reject(self, session: Session, resource: Resource, name: str, admitted: Json) -> None:
        """Delete exactly the object that this create returned; it never ran anything of ours."""
        try:
            await self._cluster.delete(
                resource, name, session.inventory.namespace, uid=admitted["metadata"]["uid"], grace_seconds=0
            )
        except ApiError as error:
            raise ActionFailed(
                diagnose_api(error.problem, f"delete rejected {resource.kind} {name}")
            ) from error


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
