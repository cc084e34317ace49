"""The closed union of what a session's owner may do. One handler per action in ``engine.act``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from moorage.core.session import Session


@dataclass(frozen=True)
class CreateClaim:
    """Issue a nonce, record it, POST the claim, compare, record its UID."""


@dataclass(frozen=True)
class AdoptClaim:
    """Record the UID of a claim that a read has proved to be the one we asked for (or were given).
    ``nonce``: the create nonce it carries, spent from now on."""

    uid: str
    nonce: str = ""


@dataclass(frozen=True)
class CreatePod:
    """Issue a nonce, record it, POST the Pod, compare, record its UID."""


@dataclass(frozen=True)
class AdoptPod:
    """Record the UID of a Pod that a read has proved to be the one we asked for. ``nonce``: as above."""

    uid: str
    nonce: str = ""


@dataclass(frozen=True)
class RejectClaim:
    """Compare exactly this claim with what we sent, and delete it when an owned field was changed."""

    uid: str


@dataclass(frozen=True)
class RejectPod:
    """Compare exactly this Pod with what we sent, and delete it when an owned field was changed."""

    uid: str


@dataclass(frozen=True)
class Connect:
    """Open a link to this Pod; install and repair the helper over exec where nothing answers."""

    pod_uid: str


@dataclass(frozen=True)
class CloseLink:
    """Let go of the link."""


@dataclass(frozen=True)
class Materialize:
    """Fill the workspace from the session's source, once. What came from another session is compared with it,
    and only then noted as filled."""

    marker: str


@dataclass(frozen=True)
class StartAgent:
    """Start the agent under this id; the same id twice starts one process."""

    start_id: str


@dataclass(frozen=True)
class Drain:
    """SIGTERM, grace, SIGKILL for the agent's group; take its last output."""


@dataclass(frozen=True)
class NoteLoss:
    """Tell in the transcript that output went with the Pod, how much nobody knows."""


@dataclass(frozen=True)
class DeletePod:
    """Delete exactly this Pod, as it was when it was judged (``version``: its resourceVersion).
    ``now``: without grace, for one whose node is gone."""

    uid: str
    now: bool = False
    version: str = ""


@dataclass(frozen=True)
class DeleteClaim:
    """Delete exactly this claim, as it was when it was judged; planned only for claims that we created."""

    uid: str
    version: str = ""


@dataclass(frozen=True)
class Forget:
    """Nothing of the session is left in the cluster: drop its secrets (and, when deleted, its history)."""


Action: TypeAlias = (
    CreateClaim
    | AdoptClaim
    | CreatePod
    | AdoptPod
    | RejectClaim
    | RejectPod
    | Connect
    | CloseLink
    | Materialize
    | StartAgent
    | Drain
    | NoteLoss
    | DeletePod
    | DeleteClaim
    | Forget
)


@dataclass(frozen=True)
class Retry:
    """Look again after so many seconds, or when something changes."""

    after: float


@dataclass(frozen=True)
class Wait:
    """Nothing to do until something changes."""


@dataclass(frozen=True)
class Terminal:
    """Nothing more will happen for this intent. ``reason`` is for the log."""

    reason: str


Settle: TypeAlias = Retry | Wait | Terminal


@dataclass(frozen=True)
class Plan:
    """Store ``session`` first (it may differ from the one planned for), then act, then settle."""

    session: Session
    action: Action | None
    settle: Settle
