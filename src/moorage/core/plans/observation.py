"""What a session planner looks at: a frozen, reduced view of Pod, claim, cluster identity and link.

Filled by ``engine.observe`` from most-recent reads; drawn at random by the law tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from moorage.core.observed import Observed
from moorage.core.session import AgentExit, Diagnosis

ENDED = ("Failed", "Succeeded")
"""Pod phases in which no container runs, or ever will again."""


class Verdict(StrEnum):
    """Whose object holds our name. ``adoptable``: carries a nonce of ours and every owned field, but its
    UID is not on record yet (we crashed between create and checkpoint); ``altered``: the same, but admission
    changed an owned field (we crashed before it was rejected)."""

    OWNED = "owned"
    ADOPTABLE = "adoptable"
    ALTERED = "altered"
    FOREIGN = "foreign"


@dataclass(frozen=True)
class PodSeen:
    """The Pod under our name. ``deleting``: has a deletionTimestamp; ``overdue``: its grace has passed;
    ``node_gone``: the Node it ran on is Absent. ``cause``: why it stopped being useful, for people;
    ``nonce``: the create nonce it carries; ``version``: its resourceVersion; ``holds_claim``: it mounts the
    session's claim."""

    uid: str
    verdict: Verdict
    conflict: str = ""
    phase: str = "Pending"
    deleting: bool = False
    overdue: bool = False
    node_gone: bool = False
    main_running: bool = False
    container_id: str = ""
    cause: str = ""
    diagnosis: Diagnosis | None = None
    nonce: str = ""
    version: str = ""
    holds_claim: bool = False

    @property
    def abandoned(self) -> bool:
        """Being deleted, nothing of it runs, and nobody on its node finishes the deletion."""
        return self.deleting and self.overdue and (self.node_gone or self.phase in ENDED)

    @property
    def gone(self) -> bool:
        """docs/design.md section 4: nothing of it runs, or ever will again."""
        return self.phase in ENDED or self.abandoned


@dataclass(frozen=True)
class ClaimSeen:
    """The claim under our (or the given) name."""

    uid: str
    verdict: Verdict
    conflict: str = ""
    deleting: bool = False
    diagnosis: Diagnosis | None = None
    nonce: str = ""
    version: str = ""


@dataclass(frozen=True)
class LinkSeen:
    """An open, authenticated link and what agentctl said on it."""

    pod_uid: str
    epoch: str
    agent_state: str
    start_id: str = ""
    exit: AgentExit | None = None
    marker: str = ""


@dataclass(frozen=True)
class Trouble:
    """The latest action failed ``count`` times in a row."""

    action: str
    diagnosis: Diagnosis
    count: int = 1


@dataclass(frozen=True)
class Seen:
    """Everything at one moment. ``same_cluster``: Present(True) when namespace UID and API server are the
    recorded ones; Absent when the recorded API server says that the recorded namespace is gone."""

    same_cluster: Observed[bool]
    pod: Observed[PodSeen]
    claim: Observed[ClaimSeen]
    link: LinkSeen | None = None
    trouble: Trouble | None = None
