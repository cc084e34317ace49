"""Records for the store's tests."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from moorage.core.session import (
    AgentSpec,
    Desired,
    HelperSpec,
    Identity,
    Intent,
    Inventory,
    IssuedNonce,
    LaunchSnapshot,
    Phase,
    Session,
    SourceSpec,
    State,
    WorkspaceMode,
    WorkspaceSpec,
)
from moorage.ports.store import Lease, Owner, Store

ELSEWHERE = Owner("another-host", 4242, "100")


def a_session(session_id: str = "s00000000001", name: str = "brave-otter") -> Session:
    """A session as ``run`` records it: something in every field that is stored apart or nested."""
    return Session(
        identity=Identity("i00000000001", "exec", "profile", "task", session_id),
        name=name,
        created_at=1000.5,
        agent=AgentSpec(argv=("sh", "-c", "echo 'héllo' \x00"), env_ref="env/1", env_names=("TOKEN",)),
        state=State(Phase.CONFIGURED, 1000.5),
        inventory=Inventory(
            namespace="agents",
            namespace_uid="uid-ns",
            server_address="https://10.0.0.1",
            server_ca_sha256="ab" * 32,
            pod_name=f"moorage-{session_id}",
            claim_name=f"moorage-{session_id}-ws",
            snapshot=LaunchSnapshot(
                {"spec": {"containers": [{"name": "agent", "x": None, "n": 1.5}]}},
                "linux/amd64",
                "agent",
                WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Gi", access_modes=("ReadWriteOnce",)),
                HelperSpec(),
            ),
            template_hash="t",
            config_hash="c",
            bootstrap_ref=f"bootstrap/{session_id}",
            nonces=(
                IssuedNonce("Pod", "moorage-x", "n1", 1.0, settled=True),
                IssuedNonce("Pod", "moorage-x", "n2", 2.0),
            ),
        ),
        intent=Intent(Desired.RUNNING, number=1, at=1000.5),
        source=SourceSpec("git", "https://example.org/r.git", commit="f" * 40),
    )


async def leased(store: Store, session: Session | None = None, owner: Owner = ELSEWHERE) -> Lease:
    """Add a session and take its lease, on a host whose processes nobody here can look at."""
    session = session or a_session()
    await store.sessions.add(session)
    lease = await store.leases.acquire(session.id, owner)
    assert lease is not None
    return lease


def spoil(folder: Path, column: str, text: str = "[1]", session_id: str = "s00000000001") -> None:
    """Write into a session's row what this code cannot read."""
    with contextlib.closing(sqlite3.connect(folder / "moorage.db")) as database, database:
        database.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", (text, session_id))
