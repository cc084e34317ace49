"""A view of a session as the SDK tells it. Used by ``sdk.sandbox`` and ``sdk.listing``. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from moorage.ports.link import ContainerUsage
from moorage.ports.sessions import SessionView
from moorage.sdk.values import SandboxInfo, SandboxMetrics, SandboxState


def info_of(view: SessionView, end_at: datetime | None = None) -> SandboxInfo:
    """``end_at``: known to the object that was given a timeout only."""
    session = view.session
    return SandboxInfo(
        sandbox_id=session.id,
        name=session.name,
        template_id=session.identity.profile_id,
        metadata=dict(session.metadata),
        started_at=datetime.fromtimestamp(session.created_at, UTC),
        end_at=end_at,
        state=state_of(view),
        reason=view.reason or view.unknown,
    )


def state_of(view: SessionView) -> SandboxState:
    """From the word that ``moorage ls`` shows."""
    try:
        return SandboxState(view.word.lower())
    except ValueError:
        return SandboxState.UNKNOWN


def metrics_of(usage: ContainerUsage) -> SandboxMetrics:
    """As of now."""
    return SandboxMetrics(
        timestamp=datetime.now(UTC),
        mem_used=usage.memory_bytes,
        mem_total=usage.memory_limit,
        cpu_used_micros=usage.cpu_micros,
        oom_kills=usage.oom_kills,
    )
