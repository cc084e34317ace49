"""Draws sessions and observations at random, for the laws."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.plans.observation import ClaimSeen, LinkSeen, PodSeen, Seen, Trouble, Verdict
from moorage.core.session import (
    AgentExit,
    AgentRun,
    AgentSpec,
    Desired,
    Diagnosis,
    HelperSpec,
    Identity,
    Intent,
    Inventory,
    LaunchSnapshot,
    Phase,
    Restart,
    Session,
    SourceSpec,
    State,
    WorkspaceMode,
    WorkspaceSpec,
)

NOW = 1_800_000_000.0
POD_UIDS = ("pod-1", "pod-2")
CLAIM_UIDS = ("claim-1", "claim-2")


def session(mode: WorkspaceMode = WorkspaceMode.MANAGED_PVC, **fields: Any) -> Session:
    """A session as it is right after launch, with some fields replaced (inventory fields included)."""
    inventory_fields = {k: fields.pop(k) for k in list(fields) if k in Inventory.__struct_fields__}
    snapshot = LaunchSnapshot({}, "linux/amd64", "agent", WorkspaceSpec(mode), HelperSpec())
    inventory: dict[str, Any] = {
        "namespace": "agents",
        "namespace_uid": "ns-1",
        "server_address": "https://api",
        "server_ca_sha256": "ca",
        "pod_name": "moorage-s1",
        "claim_name": "moorage-s1",
        "snapshot": snapshot,
        "template_hash": "t",
        "config_hash": "c",
        "bootstrap_ref": "session:s1:bootstrap",
    }
    base: dict[str, Any] = {
        "identity": Identity("i", "e", "p", "t", "s1"),
        "name": "calm-cove",
        "created_at": NOW - 60,
        "agent": AgentSpec(("sh",)),
        "state": State(Phase.CONFIGURED, NOW - 60),
        "inventory": Inventory(**{**inventory, **inventory_fields}),
        "intent": Intent(Desired.RUNNING, 1, NOW - 60),
    }
    return Session(**{**base, **fields})


def diagnoses() -> st.SearchStrategy[Diagnosis]:
    return st.builds(
        Diagnosis,
        category=st.sampled_from(["image", "unschedulable", "link", "quota"]),
        reason=st.just("Why"),
        message=st.just("because"),
        terminal=st.booleans(),
    )


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Observed[Any]]:
    return st.one_of(st.builds(Present, strategy), st.just(Absent()), st.just(Unknown("denied")))


def exits() -> st.SearchStrategy[AgentExit]:
    return st.one_of(
        st.builds(AgentExit, code=st.integers(0, 255)),
        st.builds(AgentExit, signal=st.sampled_from([9, 15])),
        st.just(AgentExit()),
    )


def runs() -> st.SearchStrategy[AgentRun]:
    return st.builds(
        AgentRun,
        start_id=st.sampled_from(["s1-1-0", "s1-2-0"]),
        epoch=st.sampled_from(["", "epoch-1"]),
        exit=st.none() | exits(),
    )


def states() -> st.SearchStrategy[State]:
    return st.builds(
        State,
        phase=st.sampled_from(list(Phase)),
        since=st.just(NOW - 30),
        reason=st.sampled_from(["", "Pod deleted"]),
        pod=st.sampled_from(["", "kept", "released"]),
    )


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Any record that could stand in a store, plausible or not."""
    desired = draw(st.sampled_from(list(Desired)))
    number = draw(st.integers(1, 3))
    return session(
        mode=draw(st.sampled_from(list(WorkspaceMode))),
        pod_uid=draw(st.sampled_from(["", *POD_UIDS])),
        claim_uid=draw(st.sampled_from(["", *CLAIM_UIDS])),
        claim_created_by_us=draw(st.booleans()),
        state=draw(states()),
        intent=Intent(
            desired,
            number,
            NOW - draw(st.sampled_from([1, 10_000])),
            draw(st.booleans()),
            draw(st.booleans()),
        ),
        seen_intent=draw(st.integers(0, number)),
        source=draw(st.none() | st.just(SourceSpec("path", "/x", marker="m1"))),
        run=draw(st.none() | runs()),
        restarts=draw(
            st.lists(st.builds(Restart, at=st.just(NOW - 5), cause=st.just("Pod deleted")), max_size=4).map(
                tuple
            )
        ),
        restart_allowed=draw(st.booleans()),
        ever_ran=draw(st.booleans()),
        filled=draw(st.sampled_from(["", *CLAIM_UIDS, *POD_UIDS])),
    )


def pods() -> st.SearchStrategy[PodSeen]:
    return st.builds(
        PodSeen,
        uid=st.sampled_from(POD_UIDS),
        verdict=st.sampled_from(list(Verdict)),
        phase=st.sampled_from(["Pending", "Running", "Failed", "Succeeded", "Unknown"]),
        deleting=st.booleans(),
        overdue=st.booleans(),
        node_gone=st.booleans(),
        main_running=st.booleans(),
        cause=st.sampled_from(["", "OOMKilled", "evicted"]),
        diagnosis=st.none() | diagnoses(),
    )


def claims() -> st.SearchStrategy[ClaimSeen]:
    return st.builds(
        ClaimSeen,
        uid=st.sampled_from(CLAIM_UIDS),
        verdict=st.sampled_from(list(Verdict)),
        deleting=st.booleans(),
        diagnosis=st.none() | diagnoses(),
    )


def links() -> st.SearchStrategy[LinkSeen]:
    return st.builds(
        LinkSeen,
        pod_uid=st.sampled_from(POD_UIDS),
        epoch=st.sampled_from(["epoch-1", "epoch-2"]),
        agent_state=st.sampled_from(["none", "running", "draining", "exited"]),
        start_id=st.sampled_from(["", "s1-1-0", "s1-2-0"]),
        exit=st.none() | exits(),
        marker=st.sampled_from(["", "m1"]),
    )


def seen() -> st.SearchStrategy[Seen]:
    trouble = st.builds(Trouble, action=st.just("Connect"), diagnosis=diagnoses(), count=st.integers(1, 8))
    return st.builds(
        Seen,
        same_cluster=maybe(st.booleans()),
        pod=maybe(pods()),
        claim=maybe(claims()),
        link=st.none() | links(),
        trouble=st.none() | trouble,
    )
