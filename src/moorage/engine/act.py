"""One handler per action of a session's plan. Called by ``sessions.owner``, which stores what comes back.

Every handler is idempotent. What it will own is on record before it acts; a delete carries the UID that a
read of this same round proved to be ours. Failures are ActionFailed with a diagnosis.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar, assert_never

from moorage.core.bootstrap import entrypoint
from moorage.core.diagnosis import diagnose_api
from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.errors import (
    ApiError,
    Conflict,
    HelperError,
    IntegrityError,
    LinkError,
    MoorageError,
    NotFound,
)
from moorage.core.kinds import CLAIMS, PODS, Json, Resource
from moorage.core.observed import Absent, from_problem
from moorage.core.owned import WORKSPACE_PATH
from moorage.core.owned_fields import claim_conflicts, pod_conflicts
from moorage.core.ownership import judge_claim, judge_pod
from moorage.core.plans import actions as do
from moorage.core.plans.changes import enter, own, spend
from moorage.core.plans.fork import CLONE
from moorage.core.session import FORKED, Diagnosis, Phase, Session, WorkspaceMode, change
from moorage.core.workload import session_claim, session_pod
from moorage.engine.agent_start import make_state_dirs, start_spec
from moorage.engine.connection import ANSWER_TIMEOUT, Connection
from moorage.engine.creation import Creation
from moorage.engine.failure import ActionFailed
from moorage.engine.fork_proof import check_origin, prove_equal
from moorage.ports.clock import Clock, Ids
from moorage.ports.cluster import Cluster
from moorage.ports.link import Gap, Link
from moorage.ports.store import Lease, Store

Say = Callable[[str, str], None]
T = TypeVar("T")
SourceBytes = Callable[[Session], AsyncIterator[bytes]]
SOURCE_LIMIT = 16 << 30
STALL = 300.0
"""Seconds in which agentctl takes the next bytes of a source, or says after the last that all are there."""
DRAIN_SLACK = 15.0
"""Seconds beyond the grace in which agentctl must have ended the agent and said so."""
DRAIN_TRIES = 10
"""So often it is asked for one intent: one that breaks the link each time must not hold a stop for ever."""


class Actor:
    """Acts for one session under one lease."""

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        lease: Lease,
        connection: Connection,
        *,
        clock: Clock,
        ids: Ids,
        say: Say,
        source: SourceBytes,
        drained: Callable[[], Awaitable[None]],
    ) -> None:
        self._cluster = cluster
        self._store = store
        self._lease = lease
        self._connection = connection
        self._clock = clock
        self._creation = Creation(cluster, clock, ids, self._save)
        self._say = say
        self._source = source
        self._drained = drained
        self._drains = (0, 0)

    async def _save(self, session: Session) -> Session:
        return await self._store.sessions.save(session, self._lease)

    async def act(self, action: do.Action, session: Session) -> Session:
        """Carry out one action; the session to store. Raises ActionFailed."""
        match action:
            case do.CreateClaim():
                return await self._create_claim(session)
            case do.AdoptClaim(uid, nonce):
                ours = session.inventory.snapshot.workspace.mode is WorkspaceMode.MANAGED_PVC
                return own(spend(session, nonce), claim_uid=uid, claim_created_by_us=ours)
            case do.CreatePod():
                return await self._create_pod(session)
            case do.AdoptPod(uid, nonce):
                return own(spend(session, nonce), pod_uid=uid)
            case do.RejectClaim(uid):
                return await self._reject(CLAIMS, session, uid)
            case do.RejectPod(uid):
                return await self._reject(PODS, session, uid)
            case do.Connect(pod_uid):
                return await self._connect(session, pod_uid)
            case do.CloseLink():
                await self._connection.close()
                return session
            case do.Materialize(marker):
                return await self._on_link(session, lambda link: self._materialize(session, link, marker))
            case do.StartAgent(start_id):
                return await self._on_link(session, lambda link: self._start(session, link, start_id))
            case do.Drain():
                return await self._on_link(session, lambda link: self._drain(session, link))
            case do.NoteLoss():
                await self._tell_loss(session, await self._store.transcripts.end(session.id))
                told: Session = change(session, unread=False)
                return told
            case do.DeletePod(uid, now, version):
                await self._connection.close()
                which = _Judged(PODS, session.inventory.pod_name, uid, version)
                await self._delete(which, session, 0 if now else None)
                return session
            case do.DeleteClaim(uid, version):
                await self._delete(_Judged(CLAIMS, session.inventory.claim_name, uid, version), session, None)
                return session
            case do.Forget():
                await self._connection.close()
                return session
            case unreachable:
                assert_never(unreachable)

    async def _create_claim(self, session: Session) -> Session:
        name, clone_of = session.inventory.claim_name, session.inventory.clone_of
        if clone_of:
            await check_origin(self._cluster, session)
        self._say("storage", f"creating claim {name}" + (f" as a clone of {clone_of}" if clone_of else ""))
        session, uid = await self._creation.create(session, CLAIMS, name, _claim, claim_conflicts)
        return own(session, claim_uid=uid, claim_created_by_us=True)

    async def _create_pod(self, session: Session) -> Session:
        name = session.inventory.pod_name
        self._say("schedule", f"creating Pod {name}")
        self._connection.prepare(session)
        session, uid = await self._creation.create(session, PODS, name, _pod, pod_conflicts)
        return own(session, pod_uid=uid)

    async def _reject(self, resource: Resource, session: Session, uid: str) -> Session:
        """Finish a create that was cut short before its changed object was deleted."""
        await self._hold(session)
        claim = (session.inventory.claim_name, _claim, judge_claim)
        pod = (session.inventory.pod_name, _pod, judge_pod)
        name, build, judge = pod if resource is PODS else claim
        self._say("delete", f"{resource.kind} {name} (uid {uid}): it is not what was sent")
        return await self._creation.reject(session, resource, name, uid, build, judge)

    async def _connect(self, session: Session, pod_uid: str) -> Session:
        try:
            kept = await self._store.secrets.get(session.inventory.bootstrap_ref)
        except NotFound as error:  # a removal had come that far, and somebody wants the session back
            raise ActionFailed(_forgotten(session)) from error
        await self._connection.open(session, pod_uid, bytes.fromhex(kept.decode()), self._lease.fence)
        return session

    async def _on_link(self, session: Session, work: Callable[[Link], Awaitable[Session]]) -> Session:
        link = self._connection.link
        if link is None:
            return session  # it broke since the observation: the next plan connects again
        try:
            return await work(link)
        except LinkError as error:
            await self._connection.close()
            raise ActionFailed(_link_trouble(error)) from error
        except ActionFailed:
            raise
        except MoorageError as error:
            raise ActionFailed(_refused(error)) from error

    async def _materialize(self, session: Session, link: Link, marker: str) -> Session:
        assert session.source is not None
        if session.source.method != CLONE:
            await self._fill(session, link, marker)
        if session.source.kind != FORKED:
            return session
        self._say("source", "comparing the workspace with the one it was copied from")
        await prove_equal(session, link)
        filled: Session = change(session, filled=session.inventory.claim_uid or link.hello.pod_uid)
        return filled

    async def _fill(self, session: Session, link: Link, marker: str) -> None:
        self._say("source", f"unpacking {session.source.location if session.source else ''}")
        source = self._source(session)
        try:
            async with asyncio.timeout(STALL) as patience:
                taken = _as_taken(source, patience)
                await link.materialize(WORKSPACE_PATH, taken, marker=marker, limit=SOURCE_LIMIT)
        except TimeoutError:
            raise LinkError(f"agentctl took nothing more of the source for {STALL:.0f} s") from None
        except (Conflict, NotFound, HelperError) as error:
            raise ActionFailed(_refused(error, "source")) from error

    async def _tell_loss(self, session: Session, end: int) -> int:
        """How much went with the Pod, nobody knows. Told once for one place. The end of the transcript."""
        end = await self._store.transcripts.append(session.id, Gap(end, None), self._lease)
        self._say("warning", f"output after byte {end} that was not fetched from the old Pod is lost")
        return end

    async def _start(self, session: Session, link: Link, start_id: str) -> Session:
        end = await self._store.transcripts.end(session.id)
        status = await _answered(link.status())
        if status.state == "none" and session.restarts:
            end = await self._tell_loss(session, end)  # this helper knows nothing of what was before it
        agent, spec = session.agent, start_spec(session, await self._env(session))
        if agent.state_dirs:
            await make_state_dirs(link, agent.state_dirs)
        started = await _answered(link.start_agent(spec, base_offset=end, start_id=start_id))
        if not (agent.stdin or agent.tty or spec.input):
            with contextlib.suppress(MoorageError):  # an agent that has just ended has no input to close
                await _answered(link.close_input())
        hello = link.hello
        assert session.run is not None
        base = started.oldest if status.state == "none" else max(end, status.end)
        run = change(session.run, epoch=hello.epoch, pod_uid=hello.pod_uid, base_offset=base)
        now = self._clock.now()
        ran: Session = change(session, run=change(run, started_at=now), ever_ran=True)
        return enter(ran, Phase.RUNNING, now)

    async def _env(self, session: Session) -> dict[str, str]:
        """Resolved anew at each start; never stored in a record."""
        if not session.agent.env_ref:
            return {}
        packed = await self._store.secrets.get(session.agent.env_ref)
        pairs = packed.decode().split("\0")
        return dict(pair.split("=", 1) for pair in pairs if pair)

    async def _drain(self, session: Session, link: Link) -> Session:
        grace = 0.0 if session.intent.force else session.agent.grace_seconds
        self._say("drain", f"SIGTERM, then SIGKILL {f'after {grace:.0f} s' if grace else 'at once'}")
        intent, tries = self._drains
        self._drains = (session.intent.number, tries + 1 if intent == session.intent.number else 1)
        if self._drains[1] > DRAIN_TRIES:
            raise ActionFailed(_not_ended(session, f"agentctl was asked {DRAIN_TRIES} times"))
        try:
            async with asyncio.timeout(grace + DRAIN_SLACK):
                await link.drain(grace)
        except TimeoutError:
            late = f"agentctl did not answer within {grace + DRAIN_SLACK:.0f} s"
            raise ActionFailed(_not_ended(session, late)) from None
        await self._drained()
        return session

    async def _hold(self, session: Session) -> None:
        """Conflict unless the session is still ours."""
        if not await self._store.leases.renew(self._lease):
            raise Conflict(f"another process has taken over session {session.name}")

    async def _delete(self, judged: _Judged, session: Session, grace: int | None) -> None:
        """Delete the object exactly as it was when it was judged, and only while the session is ours: an
        owner that was stopped in between comes too late. One that changed since is looked at again."""
        await self._hold(session)
        resource, name = judged.resource, judged.name
        self._say("delete", f"{resource.kind} {name} (uid {judged.uid})")
        try:
            await self._cluster.delete(
                resource,
                name,
                session.inventory.namespace,
                uid=judged.uid,
                resource_version=judged.version or None,
                grace_seconds=grace,
            )
        except ApiError as error:
            absent = isinstance(from_problem(error.problem, resource.plural, name), Absent)
            changed = (error.problem.http_status, error.problem.reason) == (409, "Conflict")
            if not absent and not changed:
                raise ActionFailed(diagnose_api(error.problem, f"delete {resource.kind} {name}")) from error


async def _answered(asked: Awaitable[T]) -> T:
    """LinkError where agentctl is there and says nothing."""
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT):
            return await asked
    except TimeoutError:
        raise LinkError(f"agentctl did not answer within {ANSWER_TIMEOUT:.0f} s") from None


async def _as_taken(chunks: AsyncIterator[bytes], patience: asyncio.Timeout) -> AsyncIterator[bytes]:
    """The same bytes; whenever more are asked for, the patience begins anew."""
    loop = asyncio.get_running_loop()
    async for chunk in chunks:
        patience.reschedule(loop.time() + STALL)
        yield chunk
    patience.reschedule(loop.time() + STALL)


def _claim(session: Session, nonce: str) -> Json:
    return session_claim(session.identity, session.inventory, nonce)


def _pod(session: Session, nonce: str) -> Json:
    return session_pod(session.identity, session.inventory, nonce, entrypoint=entrypoint())


@dataclass(frozen=True)
class _Judged:
    """One object, as it was when a plan judged it."""

    resource: Resource
    name: str
    uid: str
    version: str


def _forgotten(session: Session) -> Diagnosis:
    message = f"the secrets of session {session.name} are gone: its removal had begun"
    hint = f"finish it with: moorage rm {session.name}"
    return diagnosis("unknown", "SecretsRemoved", message, hint=hint, terminal=True)


def _not_ended(session: Session, why: str) -> Diagnosis:
    return Diagnosis(
        category="link",
        reason="AgentNotEnded",
        message=f"the agent of session {session.name} may still run: {why}",
        hint=f"moorage pause {session.name} ends it with its Pod; the workspace stays if it is on a claim",
        terminal=True,
    )


def _link_trouble(error: LinkError) -> Diagnosis:
    return Diagnosis(category="link", reason="LinkLost", message=error.message, hint=error.hint)


def _refused(error: MoorageError, category: str = "helper") -> Diagnosis:
    if isinstance(error, IntegrityError):
        category = "integrity"
    elif error.details.get("code") in ("no_space", "denied"):
        category = "storage"
    return diagnosis(category, "Refused", error.message, hint=error.hint, terminal=True)
