"""What the scripted verbs answer by itself: a session as it runs, who asks, a fork, a change."""

from __future__ import annotations

from typing import Any

from moorage.core.session import (
    AgentRun,
    AgentSpec,
    Desired,
    HelperSpec,
    Identity,
    Intent,
    Inventory,
    LaunchSnapshot,
    Phase,
    Session,
    SourceSpec,
    State,
    WorkspaceMode,
    WorkspaceSpec,
)
from moorage.ports.changes import ChangedFile, Changes
from moorage.ports.forks import ForkCheck, ForkPlan
from moorage.ports.sessions import (
    Caller,
    Rights,
    SessionView,
)


def make_session(name: str = "brisk-otter", **fields: Any) -> Session:
    """A session record with plausible values."""
    namespace = fields.pop("namespace", "agents")
    workspace = fields.pop("workspace", WorkspaceSpec(mode=WorkspaceMode.MANAGED_PVC, size="1Gi"))
    phase = fields.pop("phase", Phase.RUNNING)
    inventory = Inventory(
        namespace=namespace,
        namespace_uid="ns-uid",
        server_address="https://cluster.example",
        server_ca_sha256="0" * 64,
        pod_name=f"moorage-{name}",
        claim_name=f"moorage-{name}",
        snapshot=LaunchSnapshot(
            template={},
            platform="linux/amd64",
            main_container="agent",
            workspace=workspace,
            helper=HelperSpec(),
        ),
        template_hash="t",
        config_hash="c",
        bootstrap_ref="secret/one",
        pod_uid="pod-uid",
        claim_uid="claim-uid",
        claim_created_by_us=True,
    )
    values: dict[str, Any] = {
        "identity": Identity("inst", "exec", "prof", "task", f"id{name.replace('-', '')}"[:12]),
        "name": name,
        "created_at": 1_795_000_000.0,
        "agent": AgentSpec(argv=("make", "test"), env_names=("TOKEN",)),
        "state": State(phase=phase, since=1_795_000_060.0),
        "inventory": inventory,
        "intent": Intent(desired=Desired.RUNNING),
        "source": SourceSpec(kind="path", location="/src/project", commit="abc123"),
        "run": AgentRun(start_id="s1", pod_uid="pod-uid", started_at=1_795_000_050.0),
    }
    return Session(**(values | fields))


def make_view(name: str = "brisk-otter", word: str = "Running", **fields: Any) -> SessionView:
    """An observed session."""
    own = {key: fields.pop(key) for key in list(fields) if key in SessionView.__dataclass_fields__}
    values: dict[str, Any] = {
        "word": word,
        "reason": "",
        "pod_phase": "Running",
        "container_state": "running",
        "node": "node-1",
        "image": "registry.example/agent:1",
        "observed_at": 1_795_000_100.0,
        "context": "kind-dev",
    }
    return SessionView(session=make_session(name, **fields), **(values | own))


CALLER = Caller(
    "jane",
    ("dev", "system:authenticated"),
    "kind-dev",
    "agents",
    "https://cluster.example",
    (Rights("pods", ("get", "list"), ("create",)), Rights("pods/exec", ("get", "create"), ())),
)


FORK = ForkPlan(
    "brisk-otter",
    "copy",
    ("brisk-otter",),
    WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Gi"),
    (ForkCheck("session", "ok", "preserved"), ForkCheck("quiesced", "ok", "nothing of the agent runs")),
)


CHANGED = Changes(
    "brisk-otter",
    "abc123def456789",
    "/src/project",
    (ChangedFile("kept.txt", "M", 1, 0), ChangedFile("logo.png", "A", None, None)),
    b"diff --git a/kept.txt b/kept.txt\n+\x1b[31mred\n",
)
