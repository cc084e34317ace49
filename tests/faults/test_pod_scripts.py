"""Cases of the catalogue about a Pod's phases as rows: what the kubelet says in, what we conclude out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.faults.machine.virtual_time import VirtualLoop
from tests.faults.pod import YEAR_1
from tests.faults.pod_script import (
    alive,
    amended,
    claim_deleted,
    container,
    deleted,
    disrupted,
    exits,
    failed,
    gone,
    heard_again,
    held,
    node_removed,
    pending,
    reported,
    restarted,
    runs,
    silent,
    succeeded,
    terminated,
    told,
    waiting,
)
from tests.faults.pod_stage import Outcome, Row, Stage, open_stage

NEW = ("create persistentvolumeclaims", "create pods")
AGAIN = (*NEW, "delete pods", "create pods")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        made = open_stage(tmp_path_factory.mktemp("stage"), runner)
        yield made
        runner.run(made.world.__aexit__())


SLOW = pending(container(waiting("ContainerCreating")))
PULLING = pending(container(waiting("ImagePullBackOff", "Back-off pulling image")))
LOW = "The node was low on resource: memory."
LIMIT = 'Usage of EmptyDir volume "x" exceeds the limit "1Gi".'
PRIORITY = "default-scheduler: preempting to accommodate a higher priority pod"
INIT = failed("", "", container(waiting("PodInitializing")), init=[container(terminated("Error", 1), "prep")])
MULTI = 'Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one node'
DEAD = [container(alive()), container(terminated("Error", 1), "mesh")]
BESIDE = [container(alive()), container(alive(), "mesh")]
SIDECAR = [container(alive()), container(terminated("Completed", 0), "mesh")]
PREEMPTED = ((5, held()), (1, disrupted("PreemptionByScheduler", PRIORITY)), (1, deleted(1)), (9, held("")))


READY = [{"type": "Ready", "status": "True"}]
UNREADY = [{"type": "Ready", "status": "False"}]
TAKEN = 'Error: failed to reserve container name "agent_1": name is in use'


ROWS = [
    Row("a Pod that simply runs", then=((1, runs()),), phase="running", word="Running", writes=NEW),
    Row(
        "case 45: Unknown, and nothing more is heard",
        then=((5, silent()), (1, amended(phase="Unknown", reason="NodeLost"))), more=60,
        phase="running", word="Unknown", reason="no link", says=("does not answer",), writes=NEW,
    ),
    Row(
        "case 45: Unknown, then Running",
        then=((5, silent()), (1, amended(phase="Unknown")), (60, heard_again()), (1, runs())),
        phase="running", word="Running", writes=NEW,
    ),
    Row(
        "case 45: Unknown, then gone",
        then=((5, amended(phase="Unknown")), (20, gone())),
        phase="running", word="Running", says=("is lost",), writes=(*NEW, "create pods"),
    ),
    Row(
        "case 42: not Ready, and Ready before anybody looked",
        then=((5, amended(conditions=UNREADY)), (0, amended(conditions=READY))),
        phase="running", word="Running", writes=NEW,
    ),
    Row(
        "cases 9, 46, 47, 81: Evicted, and the new Pod is what counts; nobody waits for a collector",
        then=((5, failed("Evicted", LOW)),),
        phase="running", word="Running", says=(f"evicted: {LOW}",), writes=AGAIN,
    ),
    Row(
        "case 51: out of memory",
        restart_allowed=False, then=((5, restarted(terminated("OOMKilled", 137))),),
        phase="failed", category="oom", reason="OOMKilled", writes=NEW,
    ),
    Row(
        "case 51: preempted",
        restart_allowed=False, then=PREEMPTED,
        phase="failed", category="interrupted", reason="Preempted", says=(PRIORITY,), writes=NEW,
    ),
    Row(
        "cases 53, 75: the node's own words outlive its Pod",
        restart_allowed=False, then=((5, failed("Evicted", LIMIT)),),
        phase="failed", category="interrupted", reason="Evicted", says=(LIMIT,),
        writes=(*NEW, "delete pods"),
    ),
    Row(
        "case 54: the kubelet rejects it once",
        start=((0, failed("OutOfpods", "Pod was rejected: OutOfpods")),),
        phase="running", word="Running", says=("Pod was rejected: OutOfpods",), writes=AGAIN,
    ),
    Row(
        "case 54: the kubelet rejects each",
        start=((0, failed("OutOfpods", "Pod was rejected: OutOfpods")),), pods=1000, start_timeout=60,
        phase="failed", category="kubelet_rejected", reason="OutOfpods", most_pods=12,
    ),
    Row(
        "case 57: a late image is no failure",
        start=((0, SLOW), (5, PULLING), (40, runs())), start_timeout=60,
        phase="running", word="Running", writes=NEW,
    ),
    Row(
        "case 22: a container that cannot be made, of which only an Event tells",
        start=((0, SLOW), (1, told("Failed", TAKEN))), start_timeout=30,
        phase="failed", category="crash", says=(TAKEN,), writes=(*NEW, "delete pods"),
    ),
    Row(
        "case 58: a missing key of a Secret",
        start=((0, pending(container(waiting("CreateContainerConfigError", 'secret "tok" not found')))),),
        start_timeout=30, phase="failed", category="config", says=('secret "tok" not found',),
        writes=(*NEW, "delete pods"),
    ),
    Row(
        "case 58: a missing ConfigMap, of which only an Event tells",
        start=((0, SLOW), (1, told("FailedMount", 'configmap "conf" not found'))),
        start_timeout=30, phase="failed", category="config", says=('configmap "conf" not found',),
        writes=(*NEW, "delete pods"),
    ),
    Row(
        "case 59: out of memory, with restarts",
        then=((5, restarted(terminated("OOMKilled", 137))),),
        phase="running", word="Running", says=("interrupted: OOMKilled", "is lost"), writes=NEW,
    ),
    Row(
        "case 61: ContainerStatusUnknown, in year 1",
        then=((5, restarted(terminated("ContainerStatusUnknown", 137, at=YEAR_1))),),
        phase="running", word="Running", says=("interrupted: node lost",), writes=NEW,
    ),
    Row(
        "cases 62, 63: deleted on a node that is not heard from: unknown, not proved dead",
        then=((5, silent()), (1, deleted(30)), (120, amended())), more=60,
        phase="interrupted", word="Unhealthy", reason="node lost", writes=NEW,
    ),
    Row(
        "case 62: the same, until a person deletes the Node",
        then=((5, silent()), (1, deleted(30)), (100, node_removed()), (40, heard_again())),
        phase="running", word="Running", says=("node lost",), writes=AGAIN,
    ),
    Row(
        "case 65: a node that is away for as long as a cluster needs to notice",
        then=((5, silent()), (45, heard_again())), phase="running", word="Running", writes=NEW,
    ),
    Row(
        "case 67: a sidecar that died holds up nobody",
        start=((0, reported(*DEAD, conditions=READY)),),
        phase="running", word="Running", writes=NEW,
    ),
    Row(
        "case 69: exit code 137 without the kernel's word is a restart",
        then=((5, restarted(terminated("Error", 137))),),
        phase="running", says=("interrupted: container restart",), writes=NEW,
    ),
    Row(
        "cases 70, 71: the agent has ended well; a sidecar runs, and the Pod is not Ready",
        then=((5, amended(containerStatuses=BESIDE, conditions=UNREADY)), (1, exits(0))),
        phase="preserved", word="Stopped", reason="agent exited", writes=NEW,
    ),
    Row(
        "case 73: a sidecar that is said to have ended",
        then=((5, amended(containerStatuses=SIDECAR)),), phase="running", word="Running", writes=NEW,
    ),
    Row(
        "case 74: an init container that fails each time",
        start=((0, INIT),), pods=1000, start_timeout=60, most_pods=12,
        phase="failed", category="crash", says=("init container prep ended: exit code 1",),
    ),
    Row(
        "case 75: evicted for the same cause each time: three restarts, and no more",
        start=((0, runs()), (20, failed("Evicted", LIMIT))), then=((0, amended()),), pods=20, more=300,
        phase="failed", category="interrupted", reason="Evicted", says=(LIMIT,), most_pods=4,
    ),
    Row(
        "case 75: an emptyDir goes with its Pod, and that is said",
        workspace="empty", then=((5, failed("Evicted", LIMIT)),),
        phase="lost", word="Failed", category="workspace_lost", says=("evicted",), writes=("create pods",),
    ),
    Row(
        "case 78: succeeded and gone before its output was read",
        then=((5, succeeded()), (0, gone())),
        phase="running", word="Running", says=("is lost",),
    ),
    Row(
        "cases 5, 79: a start that is late is cleaned up",
        start=((0, SLOW),), start_timeout=30,
        phase="failed", category="timeout", writes=(*NEW, "delete pods"),
    ),
    Row(
        "case 85: another node still holds the volume",
        start=((0, SLOW), (1, told("FailedAttachVolume", MULTI)), (90, runs())),
        phase="running", word="Running", says=(MULTI,), writes=NEW,
    ),
    Row(
        "case 87: a volume that never comes free is not waited for without end",
        start=((0, SLOW), (1, told("FailedAttachVolume", MULTI))), start_timeout=60,
        phase="failed", category="claim", reason="MultiAttach", says=(MULTI,),
        writes=(*NEW, "delete pods"),
    ),
    Row(
        "case 93: somebody deletes the claim of a session that runs",
        then=((5, claim_deleted()), (1, amended(conditions=READY))),
        phase="running", word="Running", says=("is being deleted",), writes=NEW,
    ),
    Row(
        "a finalizer of somebody's holds the deleted Pod",
        then=((5, held()), (1, deleted(1)), (60, held(""))),
        phase="running", word="Running", says=("Pod deleted",), writes=(*NEW, "create pods"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_a_session_makes_of_its_pods_status(stage: Stage, row: Row) -> None:
    found = stage.play(row)
    check(row, found)


@pytest.mark.parametrize("knob", ["silent", "drop_event", "replay_old", "coalesce", "inband_ERROR410"])
def test_a_watch_only_wakes_whatever_it_tells_or_leaves_out(stage: Stage, knob: str) -> None:
    """What is done follows from reads: an eviction that no event told is found, and old news do nothing."""
    row = Row(knob, knob=knob, then=((5, failed("Evicted", LOW)),))
    found = stage.play(row)
    assert found.struck
    assert (found.view.word, tuple(found.writes)) == ("Running", AGAIN), found


def check(row: Row, found: Outcome) -> None:
    view = found.view
    diagnosis = view.diagnosis
    if row.phase:
        assert view.session.state.phase == row.phase, found
    if row.word:
        assert view.word == row.word, found
    if row.category:
        assert diagnosis is not None, found
        assert diagnosis.category == row.category, found
    if row.reason:
        assert row.reason in (view.session.state.reason, diagnosis.reason if diagnosis else ""), found
    for words in row.says:
        assert words in found.told, found
    if row.most_pods:
        assert found.writes.count("create pods") <= row.most_pods, found
    if row.writes is not None:
        assert tuple(found.writes) == row.writes, found
