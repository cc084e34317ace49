"""Draws sessions and observations at random, for the laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TypeVar

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

T = TypeVar("T")
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


# Each part is one choice from the list of all its combinations: that draws many times faster than a choice
# for every field. The first of each list is the plainest, which is what a failing example shrinks to.


def every(build: Callable[..., T], **choices: Sequence[Any]) -> list[T]:
    """One of ``build``'s for each combination of ``choices``."""
    return [build(**dict(zip(choices, row, strict=True))) for row in product(*choices.values())]


DIAGNOSES = every(
    Diagnosis,
    category=["link", "image", "unschedulable", "quota"],
    reason=["Why"],
    message=["because"],
    terminal=[False, True],
)
EXITS = [
    AgentExit(),
    *(AgentExit(code=code) for code in (0, 3, 255)),
    *(AgentExit(signal=s) for s in (9, 15)),
]
RUNS = every(AgentRun, start_id=["s1-1-0", "s1-2-0"], epoch=["", "epoch-1"], exit=[None, *EXITS])
STATES = every(
    State,
    phase=list(Phase),
    since=[NOW - 30],
    reason=["", "Pod deleted"],
    pod=["", "kept", "released"],
)
INTENTS = every(
    Intent,
    desired=list(Desired),
    number=[3],
    at=[NOW - 1, NOW - 10_000],
    force=[False, True],
    discard_workspace=[False, True],
)
INVENTORIES: list[dict[str, Any]] = every(
    dict,
    mode=[WorkspaceMode.MANAGED_PVC, *WorkspaceMode],
    pod_uid=["", *POD_UIDS],
    claim_uid=["", *CLAIM_UIDS],
    claim_created_by_us=[False, True, True],
    filled=["", *CLAIM_UIDS, *POD_UIDS],
)
RESTARTS = [tuple(Restart(at=NOW - 5, cause="Pod deleted") for _ in range(count)) for count in range(5)]
HISTORIES: list[dict[str, Any]] = every(
    dict,
    seen_intent=[3, 2, 0],
    source=[
        None,
        SourceSpec("path", "/x", marker="m1"),
        SourceSpec("session", "s0", marker="m1", method="copy", tree="t"),
    ],
    restarts=RESTARTS,
    restart_allowed=[True, False],
    ever_ran=[False, True],
    unread=[False, True],
)
PODS = every(
    PodSeen,
    uid=POD_UIDS,
    verdict=list(Verdict),
    phase=["Pending", "Running", "Failed", "Succeeded", "Unknown"],
    deleting=[False, True],
    overdue=[False, True],
    node_gone=[False, True],
    main_running=[False, True],
    cause=["", "OOMKilled", "evicted"],
    diagnosis=[None, *DIAGNOSES],
)
CLAIMS = every(
    ClaimSeen,
    uid=CLAIM_UIDS,
    verdict=list(Verdict),
    deleting=[False, True],
    diagnosis=[None, *DIAGNOSES],
)
LINKS = every(
    LinkSeen,
    pod_uid=POD_UIDS,
    epoch=["epoch-1", "epoch-2"],
    agent_state=["none", "running", "draining", "exited"],
    start_id=["", "s1-1-0", "s1-2-0"],
    exit=[None, *EXITS],
    marker=["", "m1"],
)
TROUBLES = every(Trouble, action=["Connect"], diagnosis=DIAGNOSES, count=range(1, 9))


def maybe(values: Sequence[Any], verdict: Verdict) -> st.SearchStrategy[Observed[Any]]:
    """One time in four each: absent, unknown, present with this verdict, present with any."""
    such = [value for value in values if value.verdict is verdict]
    often = len(values)
    present = [Present(value) for value in [*such * (often // len(such)), *values]]
    return st.sampled_from([*[Absent()] * often, *[Unknown("denied")] * often, *present])


def or_none(values: Sequence[Any]) -> st.SearchStrategy[Any]:
    """None half of the time."""
    return st.sampled_from([*[None] * len(values), *values])


def sessions(*desired: Desired) -> st.SearchStrategy[Session]:
    """Any record that could stand in a store, plausible or not; of these wishes, if any are named."""
    return st.builds(
        lambda state, intent, run, inventory, history: session(
            state=state, intent=intent, run=run, **inventory, **history
        ),
        st.sampled_from(STATES),
        st.sampled_from([intent for intent in INTENTS if not desired or intent.desired in desired]),
        st.sampled_from([None, *RUNS]),
        st.sampled_from(INVENTORIES),
        st.sampled_from(HISTORIES),
    )


def seen(verdict: Verdict = Verdict.OWNED) -> st.SearchStrategy[Seen]:
    """Anything that could be observed; what is there is often of this verdict. The cluster is the recorded
    one three times in four: else no law but one has anything to judge."""
    same = st.sampled_from([Present(True)] * 9 + [Present(False), Absent(), Unknown("denied")])
    parts = (same, maybe(PODS, verdict), maybe(CLAIMS, verdict), or_none(LINKS), or_none(TROUBLES))
    return st.tuples(*parts).map(lambda drawn: Seen(*drawn))
