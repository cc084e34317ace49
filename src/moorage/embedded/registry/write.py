"""Who writes, and how: what every create, update and delete carries besides the object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from moorage.core.kinds import Json
from moorage.embedded.refusal import bad_request


class User(NamedTuple):
    """An authenticated identity."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


SYSTEM = User("system:kube-controller-manager", ("system:masters", "system:authenticated"))
"""The cluster's own parts."""


@dataclass(frozen=True)
class Write:
    """Options of one write. ``manager`` owns the fields it sets."""

    user: User = SYSTEM
    manager: str = "moorage-embedded"
    dry_run: bool = False
    validation: str = "Warn"
    force: bool = False


@dataclass(frozen=True)
class DeleteOptions:
    """What a DELETE asks for; ``uid`` and ``version`` are preconditions."""

    uid: str = ""
    version: str = ""
    grace: int | None = None
    propagation: str = ""
    write: Write = field(default_factory=Write)


def read_delete_options(body: Json, query: dict[str, str], write: Write) -> DeleteOptions:
    """Of a request: its body first, then its query. Raises Refusal 400."""
    preconditions = body.get("preconditions") or {}
    grace = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    try:
        seconds = int(grace) if grace is not None else None
    except (TypeError, ValueError, OverflowError):
        raise bad_request(f"gracePeriodSeconds: {grace} is no number") from None
    propagation = body.get("propagationPolicy") or query.get("propagationPolicy") or ""
    if body.get("orphanDependents"):
        propagation = "Orphan"
    return DeleteOptions(
        uid=str(preconditions.get("uid") or ""),
        version=str(preconditions.get("resourceVersion") or ""),
        grace=seconds,
        propagation=str(propagation),
        write=write,
    )
