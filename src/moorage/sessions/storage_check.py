"""Is the storage there that a launch names, and free? Called by ``sessions.launch``, before it records.

Reads are most-recent and by exact name. Only a proved absence refuses: a denied or failed read decides
nothing, the session's own start will tell. Never changes anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from moorage.core.diagnosis import claim_missing, diagnose_claim, storage_class_missing
from moorage.core.errors import ApiError, Conflict, SessionFailed
from moorage.core.kinds import CLAIMS, PODS, STORAGE_CLASSES, VOLUMES, Json, Resource
from moorage.core.observed import Absent, Observed, Present, from_problem
from moorage.core.owned import SESSION_LABEL
from moorage.core.plans.observation import ENDED
from moorage.core.pod_view import claims_of
from moorage.core.session import Diagnosis, Inventory, Phase, Session, WorkspaceMode
from moorage.ports.cluster import Cluster
from moorage.ports.sessions import Progress, Report
from moorage.ports.store import Allow
from moorage.sessions.parts import Parts

OVER = (Phase.PRESERVED, Phase.FAILED, Phase.LOST)
"""Phases in which a session has no Pod unless one is on its record."""


async def check_storage(parts: Parts, cluster: Cluster, session: Session, report: Report) -> Allow | None:
    """Returns what the store has to ask once more as it records the session: another may come on record
    meanwhile. Raises SessionFailed when a claim or class that was named is proved to be no use, and Conflict
    when another session has the claim, also one that is not on our record. Warns of a claim that was made for
    such a session and is not in use: after the loss of a data folder it is how to get at the work."""
    wanted, namespace = session.inventory.snapshot.workspace, session.inventory.namespace
    allow: Allow | None = None
    if wanted.mode is WorkspaceMode.EXISTING_CLAIM:
        claim = await _check_claim(cluster, wanted.claim_name, namespace)
        shared = "ReadWriteMany" in ((claim.get("spec") or {}).get("accessModes") or [])
        allow = partial(_check_free, session, shared=shared)
        allow(await parts.store.sessions.list_all())
        await _check_strangers(cluster, claim, namespace, report, shared=shared)
    if wanted.storage_class:
        await _check_class(cluster, wanted.storage_class)
    return allow


async def _check_class(cluster: Cluster, name: str) -> None:
    """A class may be a mere name that volumes made by hand bear, with no object of its own."""
    if not isinstance(await _read(cluster, STORAGE_CLASSES, name, None), Absent):
        return
    try:
        async for volume in cluster.list_all(VOLUMES):
            if (volume.get("spec") or {}).get("storageClassName") == name:
                return
    except ApiError:
        return
    raise _refusal(storage_class_missing(name), "workspace.storage_class")


async def _check_claim(cluster: Cluster, name: str, namespace: str) -> Json:
    """The claim; {} where it could not be read."""
    found = await _read(cluster, CLAIMS, name, namespace)
    why = claim_missing(name, namespace) if isinstance(found, Absent) else None
    if isinstance(found, Present):
        why = diagnose_claim(found.value, [])
    if why is not None and why.terminal:
        raise _refusal(why, "workspace.claim_name")
    return found.value if isinstance(found, Present) else {}


async def _read(cluster: Cluster, resource: Resource, name: str, namespace: str | None) -> Observed[Json]:
    try:
        return Present(await cluster.get(resource, name, namespace))
    except ApiError as error:
        return from_problem(error.problem, resource.plural, name)


def _refusal(why: Diagnosis, field: str) -> SessionFailed:
    return SessionFailed(why.message, field=field, hint=why.hint, details={"category": why.category})


def _check_free(session: Session, others: Sequence[Session], *, shared: bool) -> None:
    """Two agents in one workspace would write over each other, unless it is ``shared`` on purpose."""
    name = session.inventory.claim_name
    for other in others:
        if other.inventory.claim_name != name or not _same_place(session.inventory, other.inventory):
            continue
        if other.inventory.claim_created_by_us:
            raise Conflict(
                f"claim {name} is the workspace of session {other.name}, and goes with it",
                field="workspace.claim_name",
                hint=f"work in that session: moorage resume {other.name}; or give another --claim",
            )
        if not shared and _may_have_a_pod(other):
            raise Conflict(
                f"claim {name} is in use by session {other.name}",
                field="workspace.claim_name",
                hint=f"let go of it first: moorage pause {other.name}; or give another --claim",
            )


async def _check_strangers(
    cluster: Cluster, claim: Json, namespace: str, report: Report, *, shared: bool
) -> None:
    """Sessions of other data folders are not on our record. Their labels tell of them."""
    made_for = _session_of(claim)
    if not claim or (shared and not made_for):
        return
    name = claim["metadata"]["name"]
    whose = f"claim {name} is the workspace of session {made_for}, which is not on record here"
    try:
        user = await _user_of(claim, cluster, namespace)
    except ApiError as error:
        if made_for:
            report(Progress("warning", f"{whose}; whether it is in use could not be read: {error.message}"))
        return
    if user is not None:
        pod = user["metadata"]["name"]
        raise Conflict(
            f"claim {name} is in use by Pod {pod} of session {_session_of(user) or made_for}",
            field="workspace.claim_name",
            hint="if moorage ls -a does not show that session, another data folder (MOORAGE_DATA_DIR) does: "
            "pause it there; or give another --claim",
        )
    if made_for:
        report(Progress("warning", f"{whose}; it is not in use, and a removal of that session deletes it"))


async def _user_of(claim: Json, cluster: Cluster, namespace: str) -> Json | None:
    """A Pod that may write the claim: any, for the workspace of a session; one of a session, for another."""
    async for pod in cluster.list_all(PODS, namespace):
        uses = claim["metadata"]["name"] in claims_of(pod) and (_session_of(claim) or _session_of(pod))
        if uses and (pod.get("status") or {}).get("phase") not in ENDED:
            return pod
    return None


def _session_of(obj: Json) -> str:
    """The session that an object was made for, by its label; "" for none."""
    return str(((obj.get("metadata") or {}).get("labels") or {}).get(SESSION_LABEL) or "")


def _same_place(one: Inventory, other: Inventory) -> bool:
    """Do both mean the same namespace? By its UID where it could be read, else by API server and name."""
    if one.namespace_uid and other.namespace_uid:
        return one.namespace_uid == other.namespace_uid
    here = (one.namespace, one.server_address, one.server_ca_sha256)
    return here == (other.namespace, other.server_address, other.server_ca_sha256)


def _may_have_a_pod(session: Session) -> bool:
    return session.state.phase not in OVER or bool(session.inventory.pod_uid)
