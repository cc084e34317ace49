"""What the steps of one connection test share, and what each of them is. Made by ``sessions.doctor``.

Holds no logic but that of a step that raised.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from moorage.core.cleaning import clean
from moorage.core.diagnosis import diagnose_api
from moorage.core.errors import ApiError, MoorageError
from moorage.core.kinds import Json
from moorage.core.session import Session, WorkspaceMode
from moorage.ports.cluster import Cluster
from moorage.ports.sessions import Check, LaunchRequest, Report
from moorage.ports.store import Allow
from moorage.sessions.executors import ExecutorConfig
from moorage.sessions.parts import Parts


@dataclass
class Trial:
    """``profile``: None where only the connection is tested. ``report``: who is told of what a launch does.
    What steps learn for later ones: ``version`` and ``user`` ("" while unknown), the ``session`` that the
    profile makes, what the store has to ask as one comes on record, what a dry run of its Pod brought."""

    parts: Parts
    config: ExecutorConfig
    profile: LaunchRequest | None
    cluster: Cluster
    report: Report
    version: str = ""
    user: str = ""
    session: Session | None = None
    allow: Allow | None = None
    pod: Json | ApiError | None = None

    @property
    def has_template(self) -> bool:
        """The embedded cluster has one of its own."""
        return self.profile is not None and (self.profile.template_text is not None or self.config.embedded)

    @property
    def mode(self) -> WorkspaceMode:
        """Of the profile, else what ``run`` uses when it is told nothing."""
        return self.profile.workspace.mode if self.profile else WorkspaceMode.MANAGED_PVC

    @property
    def transport(self) -> str:
        return self.profile.transport if self.profile else "auto"


Work: TypeAlias = Callable[[Trial], Awaitable[Check]]


@dataclass(frozen=True)
class Step:
    """``doing``: what it is about, in words that follow "cannot"."""

    key: str
    doing: str
    work: Work


async def run(step: Step, trial: Trial) -> Check:
    """The step's own verdict, timed; one that raises has failed."""
    begun = trial.parts.clock.monotonic()
    try:
        check = await step.work(trial)
    except ApiError as error:
        check = refused(step.key, error, step.doing)
    except MoorageError as error:
        check = Check(step.key, "failed", clean(error.message), error.hint)
    spent = int((trial.parts.clock.monotonic() - begun) * 1000)
    return Check(step.key, check.status, check.detail, check.fix, spent)


def refused(key: str, error: ApiError, doing: str) -> Check:
    """A failed call as a failed step, in the words of its diagnosis."""
    why = diagnose_api(error.problem, doing)
    unsent = error.problem.kind == "transport" and error.hint  # of whoever could not send it: it knows best
    return Check(key, "failed", why.message, error.hint if unsent else why.hint)
