"""Which containers of a Pod should start now, and why the others wait: pure, from what is known. Called by
``node.worker``.

The order is the kubelet's: init containers one after another (a sidecar, an init container with restartPolicy
Always, counts as done once it has started), then all others together; each again by restart policy, later and
later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from moorage.core.kinds import Json
from moorage.embedded.node.records import Attempt, Attempts


@dataclass(frozen=True)
class Backoff:
    """Seconds: the first wait (after the second end), the longest, and how long a run clears it."""

    first: float = 10.0
    longest: float = 300.0
    clears: float = 600.0

    def wait(self, attempts: Sequence[Attempt]) -> float:
        """Seconds between the last end and the next start. The first restart comes at once."""
        streak = 0
        for attempt in reversed(attempts[:-1]):
            if attempt.finished - attempt.started > self.clears:
                break
            streak += 1
        return min(self.longest, self.first * 2.0 ** (streak - 1)) if streak else 0.0


class Waiting(NamedTuple):
    """Why a container does not run."""

    reason: str
    message: str = ""


@dataclass
class Decision:
    """``start``: names, in order; ``waiting``: by name; ``look_at``: when time alone changes this (0: never);
    ``phase``: of the Pod once nothing is left to do."""

    start: list[str] = field(default_factory=list)
    waiting: dict[str, Waiting] = field(default_factory=dict)
    look_at: float = 0.0
    phase: str = ""


def is_sidecar(container: Json) -> bool:
    """An init container that keeps running."""
    return container.get("restartPolicy") == "Always"


def decide(
    pod: Json, attempts: Attempts, started: Callable[[str], bool], now: float, backoff: Backoff
) -> Decision:
    """``started(name)``: a running container has passed its startup probe (or has none)."""
    decision, spec = Decision(), pod["spec"]
    policy = spec.get("restartPolicy") or "Always"
    initialized = True
    for container in spec.get("initContainers") or []:
        name = container["name"]
        if not initialized:
            decision.waiting[name] = Waiting("PodInitializing")
            continue
        last = _last(attempts, name)
        if is_sidecar(container):
            _again(decision, container, "Always", attempts, now, backoff, pod)
            initialized = last is not None and last.running and started(name)
        elif last is None or last.running:
            _again(decision, container, policy, attempts, now, backoff, pod)
            initialized = False
        elif last.code == 0 or any(each.code == 0 and not each.running for each in attempts[name]):
            continue
        elif policy == "Never":
            return Decision(phase="Failed", waiting=_all_waiting(spec, attempts))
        else:
            _again(decision, container, policy, attempts, now, backoff, pod)
            initialized = False
    for container in spec["containers"]:
        if initialized or attempts.get(container["name"]):
            _again(decision, container, policy, attempts, now, backoff, pod)
        else:
            decision.waiting[container["name"]] = Waiting("PodInitializing")
    decision.phase = finished_phase(pod, attempts)
    return decision


def _all_waiting(spec: Json, attempts: Attempts) -> dict[str, Waiting]:
    return {
        each["name"]: Waiting("PodInitializing")
        for each in spec["containers"]
        if not attempts.get(each["name"])
    }


def _last(attempts: Attempts, name: str) -> Attempt | None:
    there = attempts.get(name)
    return there[-1] if there else None


def _again(decision: Decision, container: Json, policy: str, attempts: Attempts, now: float, backoff: Backoff,
           pod: Json) -> None:  # fmt: skip
    name = container["name"]
    last = _last(attempts, name)
    if last is None:
        decision.start.append(name)
        return
    if last.running or not _wants_restart(policy, last):
        return
    wait = backoff.wait(attempts[name])
    due = last.finished + wait
    if now >= due:
        decision.start.append(name)
        return
    decision.look_at = min(decision.look_at or due, due)
    metadata = pod["metadata"]
    who = f"pod={metadata['name']}_{metadata.get('namespace')}({metadata.get('uid')})"
    decision.waiting[name] = Waiting(
        "CrashLoopBackOff", f"back-off {_seconds(wait)} restarting failed container={name} {who}"
    )


def _seconds(wait: float) -> str:
    whole = int(wait)
    return f"{whole // 60}m{whole % 60}s" if whole >= 60 else f"{whole}s"


def _wants_restart(policy: str, last: Attempt) -> bool:
    return policy == "Always" or (policy == "OnFailure" and last.code != 0)


def finished_phase(pod: Json, attempts: Attempts) -> str:
    """``Succeeded`` or ``Failed`` once every main container has ended for good, else ``""``."""
    policy = pod["spec"].get("restartPolicy") or "Always"
    lasts = [_last(attempts, each["name"]) for each in pod["spec"]["containers"]]
    if policy == "Always" or any(last is None or last.running for last in lasts):
        return ""
    failed = [last for last in lasts if last is not None and last.code != 0]
    if policy == "OnFailure":
        return "" if failed else "Succeeded"
    return "Failed" if failed else "Succeeded"


def deleted_phase(pod: Json, attempts: Attempts) -> str:
    """The phase of a Pod that is being deleted, once nothing runs any more."""
    lasts = [_last(attempts, each["name"]) for each in pod["spec"]["containers"]]
    ended_well = all(last is not None and last.code == 0 for last in lasts)
    return "Succeeded" if ended_well else "Failed"


def startup_order(pod: Json) -> Mapping[str, Json]:
    """All containers of a Pod by name, init containers first."""
    spec = pod["spec"]
    return {each["name"]: each for each in [*(spec.get("initContainers") or []), *spec["containers"]]}
