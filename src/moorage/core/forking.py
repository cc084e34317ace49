"""The record of a fork: a new session made from another one's. Called by ``sessions.fork``. Pure.

A fork runs the same agent from the same launch snapshot in the same place; Pod, claim, nonces, output and
history are its own. Nothing of the other session is changed, and none of its values are in the record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator

import msgspec

from moorage.core.names import SESSION_NAME_LIMIT, bootstrap_ref, claim_name, env_ref, pod_name
from moorage.core.session import (
    Desired,
    Intent,
    LaunchSnapshot,
    Phase,
    Session,
    State,
    WorkspaceMode,
    WorkspaceSpec,
    change,
)


def forked(
    origin: Session, session_id: str, name: str, workspace: WorkspaceSpec, now: float, *, clone: bool = False
) -> Session:
    """The fork as it is put on record, still without its source. ``workspace``: its own policy; ``clone``:
    its claim is made from that of ``origin``."""
    snapshot: LaunchSnapshot = change(origin.inventory.snapshot, workspace=workspace)
    managed = workspace.mode is WorkspaceMode.MANAGED_PVC
    inventory = change(
        origin.inventory,
        snapshot=snapshot,
        config_hash=hashlib.sha256(msgspec.json.encode(snapshot)).hexdigest(),
        pod_name=pod_name(session_id),
        claim_name=claim_name(session_id) if managed else "",
        bootstrap_ref=bootstrap_ref(session_id),
        pod_uid="",
        claim_uid="",
        claim_created_by_us=False,
        nonces=(),
        clone_of=origin.inventory.claim_name if clone else "",
        clone_of_uid=origin.inventory.claim_uid if clone else "",
    )
    return Session(
        identity=change(origin.identity, session_id=session_id),
        name=name,
        created_at=now,
        agent=change(origin.agent, env_ref=env_ref(session_id) if origin.agent.env_ref else ""),
        state=State(phase=Phase.CONFIGURED, since=now),
        inventory=inventory,
        intent=Intent(desired=Desired.RUNNING, number=1, at=now),
        transport=origin.transport,
        restart_allowed=origin.restart_allowed,
        start_timeout=origin.start_timeout,
    )


def fork_names(origin: str, taken: Collection[str]) -> Iterator[str]:
    """Free names for forks of ``origin``: ``calm-cove-fork-1`` and so on, without end."""
    number = 0
    while True:
        number += 1
        ending = f"-fork-{number}"
        name = origin[: SESSION_NAME_LIMIT - len(ending)].rstrip("-") + ending
        if name not in taken:
            yield name
