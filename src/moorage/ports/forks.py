"""Forks: what is asked of one, and what its preflight says. Part of ``ports.sessions``.

Implemented in process by ``sessions.fork``; used by the CLI, later by REST and SDK.
"""

from __future__ import annotations

from dataclasses import dataclass

from moorage.core.session import WorkspaceSpec


@dataclass(frozen=True)
class ForkRequest:
    """``count`` sessions from one copy. ``name``: of the fork, or with several what their numbers follow; ""
    for names made from the other session's. ``method``: auto, copy or clone. ``live``: also while the agent
    works."""

    count: int = 1
    name: str = ""
    method: str = "auto"
    live: bool = False


@dataclass(frozen=True)
class ForkCheck:
    """One line of the preflight: ``status`` is ok, warning, failed or not_run (of the other method)."""

    key: str
    status: str
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class ForkPlan:
    """What a fork would do. ``method``: copy or clone, "" when it is refused; ``workspace``: of each fork."""

    session: str
    method: str
    names: tuple[str, ...]
    workspace: WorkspaceSpec
    checks: tuple[ForkCheck, ...]

    @property
    def success(self) -> bool:
        return bool(self.method)
