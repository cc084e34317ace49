"""The one table of status words (docs/design.md section 1): console, CLI, API, printer columns all ask here.

A word is a function of the record and of what was observed, and when. What was not observed is never shown
as if it had been: a running session nobody has looked at is Unknown, not Running.
"""

from __future__ import annotations

from moorage.core.pod_view import ContainerView, MainContainer, main_status, pod_ready
from moorage.core.session import Desired, Phase, Session

__all__ = ["ContainerView", "MainContainer", "main_status", "pod_ready", "removal_asked", "session_word"]

STARTING = "Starting"
RUNNING = "Running"
PAUSED = "Paused"
UNHEALTHY = "Unhealthy"
STOPPING = "Stopping"
STOPPED = "Stopped"
FAILED = "Failed"
UNKNOWN = "Unknown"

_RECORDED: dict[Phase, str] = {
    Phase.CONFIGURED: STARTING,
    Phase.FAILED: FAILED,
    Phase.LOST: FAILED,
    Phase.ARCHIVED: STOPPED,
    Phase.DELETED: STOPPED,
}
"""Phases that are a fact of the record itself: no object of the cluster could say otherwise."""

_OBSERVED: dict[Phase, str] = {
    Phase.PROVISIONING_STORAGE: STARTING,
    Phase.SCHEDULING: STARTING,
    Phase.BOOTSTRAPPING: STARTING,
    Phase.DRAINING: STOPPING,
    Phase.CLEANING: STOPPING,
    Phase.INTERRUPTED: UNHEALTHY,
}
"""Phases with one word, as long as the cluster was looked at lately. RUNNING and PRESERVED have several."""


def session_word(
    session: Session,
    *,
    pod_ready: bool | None,
    link_ok: bool | None,
    observed_at: float,
    now: float,
    stale_after: float,
) -> tuple[str, str]:
    """(word, reason) of a session.

    ``pod_ready``, ``link_ok``: None when not looked at. ``link_ok`` False means no link past its grace, which
    the caller measures. ``observed_at``: when the cluster last answered, 0 for never; ``stale_after``:
    seconds. Both times are seconds since the epoch by one clock.
    """
    state = session.state
    why = removal_asked(session) or state.reason or (state.diagnosis.reason if state.diagnosis else "")
    if state.phase in _RECORDED:
        return _RECORDED[state.phase], why
    if observed_at <= 0:
        return UNKNOWN, "not observed yet"
    if now - observed_at > stale_after:
        return UNKNOWN, f"no observation for {now - observed_at:.0f} s"
    if state.phase in _OBSERVED:
        return _OBSERVED[state.phase], why
    if state.phase is Phase.PRESERVED:
        return (PAUSED if state.pod == "released" else STOPPED), why
    return _running(pod_ready, link_ok, why)


def removal_asked(session: Session) -> str:
    """For people: a removal that is on record and was not begun or not finished; "" when there is none."""
    desired, phase = session.intent.desired, session.state.phase
    if desired not in (Desired.ARCHIVED, Desired.DELETED) or phase in (Phase.ARCHIVED, Phase.DELETED):
        return ""
    if phase in (Phase.DRAINING, Phase.CLEANING):
        return ""  # the word says so already
    return f"to be {desired.value}: asked for, not finished"


def _running(pod_ready: bool | None, link_ok: bool | None, why: str) -> tuple[str, str]:
    # A working link proves the agent's container; a Pod may be unready for a sidecar's sake.
    if link_ok:
        return RUNNING, why if pod_ready is not False else "Pod not ready"
    if link_ok is False:
        return UNHEALTHY, "no link"
    if pod_ready is None:
        return UNKNOWN, why or "neither Pod nor link was observed"
    return (RUNNING, why) if pod_ready else (UNHEALTHY, "Pod not ready")
