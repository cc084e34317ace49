"""Reads what a session's planner looks at. Called by ``sessions.owner``; never writes anything.

Every read is most-recent and by exact name. A failed read is Unknown, or Absent where the API server said
so in a Status that names the object (core.observed).
"""

from __future__ import annotations

from moorage.core import owned
from moorage.core.bootstrap import entrypoint
from moorage.core.diagnosis import Presence, deletion, diagnose_claim, diagnose_pod, interruption_cause
from moorage.core.diagnosis.interruption import ending_word
from moorage.core.errors import ApiError
from moorage.core.kinds import CLAIMS, EVENTS, NAMESPACES, NODES, PODS, STORAGE_CLASSES, Json, Resource
from moorage.core.observed import Absent, Observed, Present, Unknown, from_problem
from moorage.core.ownership import Altered, Foreign, Judgement, Owned, judge_claim, judge_pod
from moorage.core.plans.observation import ClaimSeen, PodSeen, Verdict
from moorage.core.pod_view import claims_of
from moorage.core.session import Diagnosis, Inventory, Session, WorkspaceMode
from moorage.core.status import MainContainer, main_status
from moorage.core.workload import session_claim, session_pod
from moorage.ports.clock import Clock
from moorage.ports.cluster import Cluster


class Observer:
    """Reads for one session. Holds no state but the last raw objects, for views and diagnoses."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self.raw_pod: Json | None = None
        self.raw_claim: Json | None = None
        self.raw_events: list[Json] = []
        self.failure: ApiError | None = None
        """Of the last read that brought neither an object nor its absence."""

    async def same_cluster(self, inventory: Inventory) -> Observed[bool]:
        """Are namespace and API server the recorded ones? Where the Namespace may not be read, the API
        server's address and CA stand for both. Absent: this is the recorded API server, and it says that the
        recorded namespace is gone, with everything that was in it."""
        server = await self._identity()
        if isinstance(server, Unknown):
            return server
        recorded = (inventory.server_address, inventory.server_ca_sha256)
        gone = Absent() if inventory.namespace_uid and server.value == recorded else Present(False)
        match await self._read(NAMESPACES, inventory.namespace, None):
            case Present(namespace) if inventory.namespace_uid:
                same = namespace["metadata"]["uid"] == inventory.namespace_uid
                return Present(True) if same else gone
            case Absent():
                return gone
            case Unknown(why) if inventory.namespace_uid and "forbidden" not in why.lower():
                return Unknown(why)
            case _:
                return Present(server.value == recorded)

    async def _identity(self) -> Present[tuple[str, str]] | Unknown:
        try:
            identity = await self._cluster.identity()
        except ApiError as error:
            self.failure = error
            return Unknown(error.message)
        return Present((identity.address, identity.ca_sha256))

    async def _read(self, resource: Resource, name: str, namespace: str | None) -> Observed[Json]:
        try:
            return Present(await self._cluster.get(resource, name, namespace))
        except ApiError as error:
            read = from_problem(error.problem, resource.plural, name)
            if isinstance(read, Unknown):
                self.failure = error
            return read

    async def pod(self, session: Session) -> Observed[PodSeen]:
        """The Pod under the session's name."""
        inventory = session.inventory
        raw = await self._read(PODS, inventory.pod_name, inventory.namespace)
        self.raw_pod = raw.value if isinstance(raw, Present) else None
        if not isinstance(raw, Present):
            return raw
        return Present(await self._reduce(session, raw.value))

    async def _reduce(self, session: Session, pod: Json) -> PodSeen:
        inventory, now = session.inventory, self._clock.now()
        main = main_status(pod, inventory.snapshot.main_container)
        judged = judge_pod(pod, session.identity, inventory, _expected_pod(session, pod))
        deleting = bool(pod["metadata"].get("deletionTimestamp"))
        node = await self._node(pod) if deleting else Unknown("not asked for")
        ending = deletion(pod, node, now).presence
        running, diagnosis = main.state == "running", None
        if not running or deleting:
            self.raw_events = await self.events(pod)
            diagnosis = diagnose_pod(pod, inventory.snapshot.main_container, self.raw_events, now)
        return PodSeen(
            uid=pod["metadata"]["uid"],
            verdict=_verdict(judged),
            conflict=_conflict(judged),
            phase=(pod.get("status") or {}).get("phase", "Pending"),
            deleting=deleting,
            overdue=ending in (Presence.STUCK, Presence.GONE),
            node_gone=ending is Presence.GONE,
            main_running=running,
            container_id=main.container_id,
            cause=_cause(pod, main),
            diagnosis=diagnosis,
            nonce=_nonce(pod),
            version=str(pod["metadata"].get("resourceVersion") or ""),
            holds_claim=inventory.claim_name in claims_of(pod),
        )

    async def _node(self, pod: Json) -> Observed[Json]:
        node = (pod.get("spec") or {}).get("nodeName") or ""
        return await self._read(NODES, node, None) if node else Unknown("not scheduled")

    async def claim(self, session: Session) -> Observed[ClaimSeen]:
        """The claim under the session's name; for an emptyDir there is none to look for."""
        inventory = session.inventory
        if inventory.snapshot.workspace.mode is WorkspaceMode.EMPTY_DIR:
            return Absent()
        raw = await self._read(CLAIMS, inventory.claim_name, inventory.namespace)
        self.raw_claim = raw.value if isinstance(raw, Present) else None
        if not isinstance(raw, Present):
            return raw
        claim = raw.value
        uid = claim["metadata"]["uid"]
        deleting = bool(claim["metadata"].get("deletionTimestamp"))
        if inventory.snapshot.workspace.mode is WorkspaceMode.EXISTING_CLAIM:
            return Present(_given_claim(inventory, uid, deleting))
        judged = judge_claim(claim, session.identity, inventory, _expected_claim(session, claim))
        bound = (claim.get("status") or {}).get("phase") == "Bound"
        why = None if bound else await self._diagnose(claim)
        version = str(claim["metadata"].get("resourceVersion") or "")
        seen = ClaimSeen(uid, _verdict(judged), _conflict(judged), deleting, why, _nonce(claim), version)
        return Present(seen)

    async def _diagnose(self, claim: Json) -> Diagnosis | None:
        wanted = (claim.get("spec") or {}).get("storageClassName")
        unnamed: Observed[Json] = Unknown("the claim names no class")
        found = await self._read(STORAGE_CLASSES, wanted, None) if wanted else unnamed
        return diagnose_claim(claim, await self.events(claim), found)

    async def events(self, obj: Json) -> list[Json]:
        """Kubernetes events of one object; none where they may not be read (they only help)."""
        meta = obj["metadata"]
        selector = f"involvedObject.name={meta['name']},involvedObject.uid={meta['uid']}"
        try:
            return [
                event
                async for event in self._cluster.list_all(EVENTS, meta["namespace"], field_selector=selector)
            ]
        except ApiError:
            return []


def _given_claim(inventory: Inventory, uid: str, deleting: bool) -> ClaimSeen:
    """An existing claim is never ours; its UID is noted at first sight and must not change after."""
    if not inventory.claim_uid:
        return ClaimSeen(uid, Verdict.ADOPTABLE, deleting=deleting)
    if uid != inventory.claim_uid:
        return ClaimSeen(uid, Verdict.FOREIGN, f"the recorded claim had UID {inventory.claim_uid}", deleting)
    return ClaimSeen(uid, Verdict.OWNED, deleting=deleting)


def _nonce(obj: Json) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(owned.NONCE_ANNOTATION, ""))


def _expected_pod(session: Session, pod: Json) -> Json:
    return session_pod(session.identity, session.inventory, _nonce(pod), entrypoint=entrypoint())


def _expected_claim(session: Session, claim: Json) -> Json:
    return session_claim(session.identity, session.inventory, _nonce(claim))


def _verdict(judged: Judgement) -> Verdict:
    match judged:
        case Foreign():
            return Verdict.FOREIGN
        case Altered():
            return Verdict.ALTERED
        case Owned(_, recorded):
            return Verdict.OWNED if recorded else Verdict.ADOPTABLE


def _conflict(judged: Judgement) -> str:
    return "" if isinstance(judged, Owned) else f"{judged.field}: {judged.why}"


def _cause(pod: Json, main: MainContainer) -> str:
    """What took the agent's container away, if something did; by the same words whether we watched or not."""
    cause = interruption_cause(pod, main.name, None)
    last = main.last_terminated
    if cause is None and last is not None:
        cause = ending_word(last)
    return cause or ""
