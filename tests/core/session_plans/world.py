"""A cluster of one session, in a few dictionaries: enough to carry out every planned action.

Used by test_settles and test_altered. Acts may fail, may be carried out without the answer arriving, and
reads may fail; that is the point. The rules are the API server's and the kubelet's, not ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.plans import actions as do
from moorage.core.plans.changes import enter, own
from moorage.core.plans.observation import ClaimSeen, LinkSeen, PodSeen, Seen, Trouble, Verdict
from moorage.core.session import (
    FORKED,
    AgentExit,
    Diagnosis,
    IssuedNonce,
    Phase,
    Session,
    WorkspaceMode,
    change,
)


class Fault(StrEnum):
    """What may go wrong in one round."""

    NONE = "none"
    POD_UNREADABLE = "the Pod cannot be read"
    CLAIM_UNREADABLE = "the claim cannot be read"
    CLUSTER_UNREADABLE = "the namespace cannot be read"
    ACT_FAILS = "the act fails"
    ANSWER_LOST = "carried out, but the answer is lost"
    CRASH_BEFORE_ACT = "we die before the act"
    CRASH_IN_ACT = "we die inside the act, after its first call"
    CRASH_AFTER_ACT = "we die after the act, before storing what came of it"


class Died(Exception):
    """We were killed."""


class Refused(Exception):
    """The act failed for good, with this reason."""

    def __init__(self, why: Diagnosis) -> None:
        super().__init__(why.message)
        self.why = why


MUTATED = Diagnosis("admission", "OwnedFieldMutated", "admission changed a field of ours", terminal=True)


@dataclass
class Agentctl:
    """The helper in one incarnation of the main container. The journal outlives the incarnation."""

    epoch: str
    state: str = "none"
    start_id: str = ""
    exit: AgentExit | None = None


@dataclass
class Pod:
    uid: str
    nonce: str
    claim_uid: str
    altered: bool = False
    running: bool = False
    deleting: bool = False
    helper: Agentctl | None = None
    journal: tuple[str, AgentExit | None] = ("", None)
    marker: str = ""


@dataclass
class Claim:
    uid: str
    nonce: str
    altered: bool = False
    deleting: bool = False
    marker: str = ""


@dataclass
class World:
    """``link``: our connection's Pod UID and epoch. ``log``: what happened, for messages and laws.
    ``alters``: kinds of objects that admission changes an owned field of; ``mortal``: we die after the next
    call. ``read``: starts of agents (Pod, start id) whose end was read, ``lost``: those that went with their
    Pod before, ``told``: of these, those of which that was said."""

    pod: Pod | None = None
    claim: Claim | None = None
    link: tuple[str, str] | None = None
    trouble: Trouble | None = None
    serial: int = 0
    log: list[str] = field(default_factory=list)
    alters: tuple[str, ...] = ()
    mortal: bool = False
    read: set[tuple[str, str]] = field(default_factory=set)
    lost: set[tuple[str, str]] = field(default_factory=set)
    told: set[tuple[str, str]] = field(default_factory=set)

    def fresh(self, what: str) -> str:
        self.serial += 1
        return f"{what}-{self.serial}"

    def time_passes(self) -> None:
        """The kubelet and the controllers do one thing each."""
        if self.pod is not None and self.pod.deleting:
            self.log.append(f"pod {self.pod.uid} gone")
            last = (self.pod.uid, self.pod.journal[0])
            if last[1] and last not in self.read:
                self.lost.add(last)
            self.pod = None
        elif self.pod is not None and not self.pod.running:
            self.pod.running = True
        if self.claim is not None and self.claim.deleting and self.pod is None:
            self.log.append(f"claim {self.claim.uid} gone")
            self.claim = None

    def kill_container(self) -> None:
        """The main container dies and is started again; what its agent did is in the journal."""
        if self.pod is not None and self.pod.running:
            self.pod.running = False
            self.pod.helper = None

    def delete_pod_by_hand(self) -> None:
        if self.pod is not None:
            self.pod.deleting = True

    def agent_exits(self) -> None:
        helper = self.pod.helper if self.pod else None
        if self.pod is not None and helper is not None and helper.state == "running":
            helper.state, helper.exit = "exited", AgentExit(code=0)
            self.pod.journal = (helper.start_id, helper.exit)

    # ---- what a planner sees

    def see(self, session: Session, fault: Fault) -> Seen:
        pod: Observed[PodSeen] = self._see_pod(session)
        claim: Observed[ClaimSeen] = self._see_claim(session)
        if fault is Fault.POD_UNREADABLE:
            pod = Unknown("timeout")
        if fault is Fault.CLAIM_UNREADABLE:
            claim = Unknown("timeout")
        same: Observed[bool] = Unknown("timeout") if fault is Fault.CLUSTER_UNREADABLE else Present(True)
        return Seen(same, pod, claim, self._see_link(session), self.trouble)

    def _see_pod(self, session: Session) -> Observed[PodSeen]:
        pod = self.pod
        if pod is None:
            return Absent()
        recorded, nonces = session.inventory.pod_uid, session.inventory.nonces_for("Pod", "moorage-s1")
        verdict = Verdict.OWNED if pod.uid == recorded else Verdict.FOREIGN
        if pod.uid != recorded and not recorded and pod.nonce in nonces:
            verdict = Verdict.ALTERED if pod.altered else Verdict.ADOPTABLE
        phase = "Running" if pod.running else "Pending"
        return Present(
            PodSeen(pod.uid, verdict, phase=phase, deleting=pod.deleting, main_running=pod.running)
        )

    def _see_claim(self, session: Session) -> Observed[ClaimSeen]:
        claim = self.claim
        if claim is None or session.inventory.snapshot.workspace.mode is WorkspaceMode.EMPTY_DIR:
            return Absent()
        recorded = session.inventory.claim_uid
        nonces = session.inventory.nonces_for("PersistentVolumeClaim", "moorage-s1")
        verdict = Verdict.OWNED if claim.uid == recorded else Verdict.FOREIGN
        if not recorded and claim.nonce in nonces:
            verdict = Verdict.ALTERED if claim.altered else Verdict.ADOPTABLE
        return Present(ClaimSeen(claim.uid, verdict, deleting=claim.deleting))

    def _see_link(self, session: Session) -> LinkSeen | None:
        pod = self.pod
        helper = pod.helper if pod is not None else None
        if pod is None or helper is None or self.link != (pod.uid, helper.epoch):
            self.link = None
            return None
        if helper.state == "exited":
            self.read.add((pod.uid, helper.start_id))
        marker = self.claim.marker if self.claim and pod.claim_uid else pod.marker
        return LinkSeen(pod.uid, helper.epoch, helper.state, helper.start_id, helper.exit, marker)

    # ---- what an action does

    def act(self, action: do.Action, session: Session, now: float) -> Session:
        """Carry out; raises RuntimeError when the cluster refuses, Refused when it will go on refusing."""
        self.log.append(type(action).__name__)
        match action:
            case do.CreateClaim():
                return self._create_claim(session, now)
            case do.CreatePod():
                return self._create_pod(session, now)
            case do.AdoptClaim(uid):
                return own(session, claim_uid=uid, claim_created_by_us=True)
            case do.AdoptPod(uid):
                return own(session, pod_uid=uid)
            case do.RejectClaim(uid):
                assert self.claim is not None
                assert (self.claim.uid, self.claim.altered) == (uid, True)
                self._reject_claim()
            case do.RejectPod(uid):
                assert self.pod is not None
                assert (self.pod.uid, self.pod.altered) == (uid, True)
                self._reject_pod()
            case do.Connect(uid):
                self._connect(uid)
            case do.CloseLink():
                self.link = None
            case do.Materialize(marker):
                return self._fill(session, marker)
            case do.StartAgent(start_id):
                return self._start(session, start_id, now)
            case do.Drain():
                self._drain()
            case do.NoteLoss():
                self.told |= self.lost
                told: Session = change(session, unread=False)
                return told
            case do.DeletePod(uid):
                assert self.pod is not None
                assert self.pod.uid == uid
                self.pod.deleting = True
            case do.DeleteClaim(uid):
                assert self.claim is not None
                assert self.claim.uid == uid
                self.claim.deleting = True
            case do.Forget():
                pass
        return session

    def _create_claim(self, session: Session, now: float) -> Session:
        if self.claim is not None:
            raise RuntimeError("AlreadyExists")
        nonce = session.inventory.nonces[-1].nonce
        self.claim = Claim(self.fresh("claim"), nonce, "Claim" in self.alters)
        self._may_die()
        if self.claim.altered:
            self._reject_claim()
        return own(session, claim_uid=self.claim.uid, claim_created_by_us=True)

    def _create_pod(self, session: Session, now: float) -> Session:
        if self.pod is not None:
            raise RuntimeError("AlreadyExists")
        nonce = session.inventory.nonces[-1].nonce
        claim_uid = self.claim.uid if self.claim else ""
        self.pod = Pod(self.fresh("pod"), nonce, claim_uid, "Pod" in self.alters)
        self._may_die()
        if self.pod.altered:
            self._reject_pod()
        return own(session, pod_uid=self.pod.uid)

    def _may_die(self) -> None:
        if self.mortal:
            raise Died

    def _reject_claim(self) -> None:
        self.claim = None
        self._may_die()
        raise Refused(MUTATED)

    def _reject_pod(self) -> None:
        self.pod = None
        self._may_die()
        raise Refused(MUTATED)

    def _connect(self, uid: str) -> None:
        pod = self.pod
        if pod is None or pod.uid != uid or not pod.running:
            raise RuntimeError("no such container")
        if pod.helper is None:
            start_id, exit_ = pod.journal
            state = "exited" if start_id else "none"
            pod.helper = Agentctl(self.fresh("epoch"), state, start_id, exit_ if start_id else None)
        self.link = (pod.uid, pod.helper.epoch)

    def _holder(self) -> Claim | Pod:
        holder = self.claim if self.claim is not None and self.pod and self.pod.claim_uid else self.pod
        assert holder is not None
        return holder

    def _helper(self) -> tuple[Pod, Agentctl]:
        if self.pod is None or self.pod.helper is None or self.link is None:
            raise RuntimeError("no link")
        return self.pod, self.pod.helper

    def _fill(self, session: Session, marker: str) -> Session:
        """What came from another session is noted as filled once it was compared, in this very act."""
        holder = self._holder()
        holder.marker = marker
        self._may_die()
        assert session.source is not None
        if session.source.kind != FORKED:
            return session
        filled: Session = change(session, filled=holder.uid)
        return filled

    def _start(self, session: Session, start_id: str, now: float) -> Session:
        assert session.source is None or session.filled == self._holder().uid
        pod, helper = self._helper()
        if helper.start_id != start_id:
            if helper.state in ("running", "draining"):
                raise RuntimeError("another agent runs")
            helper.state, helper.start_id, helper.exit = "running", start_id, None
            pod.journal = (start_id, None)
            self.log.append(f"agent {start_id} starts")
        run = change(session.run, epoch=helper.epoch, pod_uid=pod.uid)
        ran: Session = change(session, run=run, ever_ran=True)
        return enter(ran, Phase.RUNNING, now)

    def _drain(self) -> None:
        pod, helper = self._helper()
        if helper.state == "running":
            helper.state, helper.exit = "exited", AgentExit(signal=15)
            pod.journal = (helper.start_id, helper.exit)


def issue_nonce(world: World, session: Session, action: do.Action, now: float) -> Session:
    """What ``engine.creation`` stores before it sends a create."""
    kinds = {do.CreatePod: "Pod", do.CreateClaim: "PersistentVolumeClaim"}
    kind = kinds.get(type(action))
    if kind is None:
        return session
    nonce = IssuedNonce(kind, "moorage-s1", world.fresh("nonce"), now)
    return own(session, nonces=(*session.inventory.nonces, nonce))


FAILED = Diagnosis("api", "Failed", "the act failed")


def trouble_of(action: do.Action, before: Trouble | None, why: Diagnosis = FAILED) -> Trouble:
    """A failed act as the owner notes it."""
    name = type(action).__name__
    count = before.count + 1 if before is not None and before.action == name else 1
    return Trouble(name, why, count)
