"""May this session be forked, and how? The preflight: what was seen of it → a method, or why there is none.

Called by ``sessions.fork`` before anything is recorded, and for ``fork --dry-run``. Pure, and reads nothing:
what could not be read is Unknown, and decides nothing in favour of an act. docs/sessions.md tells the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from moorage.core.observed import Observed, Present, Unknown
from moorage.core.plans.cloning import ClaimFacts, Finding, VolumeFacts, can_clone, workspace_like
from moorage.core.session import Desired, Phase, Session, WorkspaceMode, WorkspaceSpec

AUTO, COPY, CLONE = "auto", "copy", "clone"
METHODS = (AUTO, COPY, CLONE)
_QUIET = ("none", "exited")
_AT_REST = (Phase.PRESERVED, Phase.FAILED)
_RUNS = (Phase.RUNNING, Phase.DRAINING)
_OVER = (Phase.LOST, Phase.CLEANING, Phase.ARCHIVED, Phase.DELETED)
_NOT_ASKED = Unknown("not asked for")


@dataclass(frozen=True)
class ForkFacts:
    """What was seen of the session to be forked. ``pod``: Present when agentctl in its Pod answers, with the
    state of the agent as agentctl tells it. ``claim`` and ``volume``: of its workspace."""

    pod: Observed[str]
    claim: Observed[ClaimFacts] = _NOT_ASKED
    volume: VolumeFacts = field(default_factory=VolumeFacts)


@dataclass(frozen=True)
class ForkVerdict:
    """``method``: ``copy`` or ``clone``, "" where there is no way. ``workspace``: that of the fork.
    ``proof``: the fork can be compared with the workspace by its hash, since nobody writes there meanwhile.
    """

    method: str
    workspace: WorkspaceSpec
    proof: bool
    findings: tuple[Finding, ...]

    @property
    def refusal(self) -> Finding | None:
        """Why there is no way."""
        return next((one for one in self.findings if one.status == "failed"), None)


def judge_fork(origin: Session, facts: ForkFacts, *, method: str = AUTO, live: bool = False) -> ForkVerdict:
    """``live``: also while the agent works. ``auto`` copies, which works with any storage, and clones where
    there is no Pod to copy from."""
    common = [_state(origin), _quiesced(origin, facts, live)]
    quiet = common[1].status == "ok"
    copying = [_pod(origin, facts)]
    cloning = can_clone(origin, facts.claim, facts.volume, proved=quiet and isinstance(facts.pod, Present))
    sound = not _failed(common)
    if method == AUTO:
        chosen = next((m for m, own in ((COPY, copying), (CLONE, cloning)) if not _doubtful(own)), "")
        if not chosen and sound:
            # The Pod is what a person can bring back; that the driver cannot clone is only told.
            told = [*copying, *[one.told() for one in cloning if one.status != "ok"]]
            return ForkVerdict("", _workspace(origin, facts, COPY), False, (*common, *told))
        chosen = chosen or COPY
    else:
        chosen = method
    own = cloning if chosen == CLONE else copying
    possible = sound and not _failed(own)
    return ForkVerdict(
        chosen if possible else "",
        _workspace(origin, facts, chosen),
        quiet and isinstance(facts.pod, Present),
        (*common, *own),
    )


def _failed(findings: list[Finding]) -> bool:
    return any(one.status == "failed" for one in findings)


def _doubtful(findings: list[Finding]) -> bool:
    """What nobody asked for by name is done only where all of it is known to be well."""
    return any(one.status == "failed" or one.unknown for one in findings)


def _state(origin: Session) -> Finding:
    phase = origin.state.phase
    if phase in _OVER:
        return Finding(
            "session",
            "failed",
            f"session {origin.name} is {phase.value}: it has no workspace any more",
            f"start a new one with moorage run; its output: moorage logs {origin.name}",
        )
    unfilled = origin.source is not None and not origin.filled
    if unfilled or phase not in (*_AT_REST, *_RUNS) or not _has_workspace(origin):
        return Finding(
            "session",
            "failed",
            f"session {origin.name} is {phase.value}: its workspace may be half filled",
            f"wait for it: moorage wait {origin.name} --for Running",
        )
    return Finding("session", "ok", f"{phase.value}, workspace {_mode(origin).value}")


def _has_workspace(origin: Session) -> bool:
    return bool(origin.inventory.claim_uid or origin.inventory.pod_uid)


def _mode(origin: Session) -> WorkspaceMode:
    return origin.inventory.snapshot.workspace.mode


def _quiesced(origin: Session, facts: ForkFacts, live: bool) -> Finding:
    name = origin.name
    wanted = origin.intent.desired is Desired.RUNNING and origin.intent.number > origin.seen_intent
    if isinstance(facts.pod, Present):
        works = facts.pod.value not in _QUIET
        said = f"the agent of {name} is {facts.pod.value}"
    elif isinstance(facts.pod, Unknown):
        works, said = True, f"whether the agent of {name} works cannot be told: {facts.pod.why}"
    else:
        works, said = origin.state.phase not in _AT_REST, f"session {name} is {origin.state.phase.value}"
    if wanted and not works:
        works, said = True, f"session {name} is about to be resumed"
    if not works:
        return Finding("quiesced", "ok", "nothing of the agent runs")
    if live:
        return Finding("quiesced", "warning", f"{said}: the copy may hold files that were half written")
    hint = f"end it first: moorage stop {name}; or take the files as they are: --live"
    return Finding("quiesced", "failed", said, hint)


def _pod(origin: Session, facts: ForkFacts) -> Finding:
    if isinstance(facts.pod, Present):
        return Finding("copy", "ok", "agentctl reads it in one Pod and writes it in the other")
    if isinstance(facts.pod, Unknown):
        return Finding("copy", "failed", f"the Pod of {origin.name} cannot be read: {facts.pod.why}")
    hint = f"moorage resume {origin.name} && moorage stop {origin.name}, then fork it"
    return Finding("copy", "failed", f"session {origin.name} has no Pod to copy its workspace from", hint)


def _workspace(origin: Session, facts: ForkFacts, method: str) -> WorkspaceSpec:
    own = origin.inventory.snapshot.workspace
    claim = facts.claim.value if isinstance(facts.claim, Present) else None
    if claim is None or (method != CLONE and own.mode is WorkspaceMode.MANAGED_PVC):
        return (
            own if own.mode is not WorkspaceMode.EXISTING_CLAIM else WorkspaceSpec(WorkspaceMode.MANAGED_PVC)
        )
    return workspace_like(claim)
