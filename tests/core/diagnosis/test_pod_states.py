"""Pod states seen in other systems' bug reports, each with the one right verdict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.diagnosis import diagnose_agent_exit, diagnose_pod, interruption_cause
from moorage.core.pod_view import MainContainer, event_time, main_status, pod_ready
from moorage.core.session import AgentExit

Json = dict[str, Any]


def pod(status: Json, **metadata: Any) -> Json:
    return {"metadata": {"uid": "u", **metadata}, "spec": {"nodeName": "n1"}, "status": status}


def agent(state: Json, last: Json | None = None, restarts: int = 0, **more: Any) -> Json:
    entry = {"name": "agent", "state": state, "lastState": last or {}, "restartCount": restarts, **more}
    return {"phase": "Running", "containerStatuses": [entry]}


def waiting(reason: str, message: str = "") -> Json:
    return {"waiting": {"reason": reason, "message": message}}


def terminated(reason: str, code: int, message: str = "") -> Json:
    return {"terminated": {"reason": reason, "exitCode": code, "message": message}}


def failed(reason: str, message: str = "m", **more: Any) -> Json:
    return pod({"phase": "Failed", "reason": reason, "message": message, **more})


def disrupted(reason: str) -> Json:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "said"}
    return pod({"phase": "Running", "conditions": [condition]}, deletionTimestamp="2026-01-01T00:00:00Z")


ENDINGS = [
    (failed("Evicted", "The node was low on resource: memory."), "evicted", "Evicted", "evicted"),
    (failed("Evicted", 'emptyDir volume "x" exceeds the limit'), "evicted", "Evicted", "evicted"),
    (failed("Terminated", "node shutdown"), "evicted", "Terminated", "evicted"),
    (failed("Preempting"), "preempted", "Preempting", "preempted"),
    (failed("OutOfcpu"), "kubelet_rejected", "OutOfcpu", "OutOfcpu"),
    (failed("OutOfpods"), "kubelet_rejected", "OutOfpods", "OutOfpods"),
    (failed("NodeAffinity"), "kubelet_rejected", "NodeAffinity", "NodeAffinity"),
    (failed("UnexpectedAdmissionError"), "kubelet_rejected", "UnexpectedAdmissionError",
     "UnexpectedAdmissionError"),
    (failed("NodeLost"), "node_lost", "NodeLost", "node lost"),
    (disrupted("PreemptionByScheduler"), "preempted", "PreemptionByScheduler", "preempted"),
    (disrupted("DeletionByTaintManager"), "evicted", "DeletionByTaintManager", "evicted"),
    (disrupted("EvictionByEvictionAPI"), "evicted", "EvictionByEvictionAPI", "evicted"),
    (pod({"phase": "Unknown", "reason": "NodeLost"}), "node_lost", "NodeLost", "node lost"),
    (pod({"phase": "Unknown"}), "node_lost", "PodUnknown", "node lost"),
]  # fmt: skip


@pytest.mark.parametrize(("observed", "category", "reason", "cause"), ENDINGS)
def test_what_ended_a_whole_pod_is_told_apart(observed: Json, category: str, reason: str, cause: str) -> None:
    found = diagnose_pod(observed, "agent", [], 0.0)
    assert found is not None
    assert (found.category, found.reason) == (category, reason)
    assert interruption_cause(observed, "agent", None) == cause


CONTAINERS = [
    (agent(waiting("ImagePullBackOff", "Back-off"), None), "image", "ImagePullBackOff"),
    (agent(waiting("ErrImagePull", "manifest unknown: not found")), "image", "ImageNotFound"),
    (agent(waiting("ErrImagePull", "401 Unauthorized")), "image", "PullDenied"),
    (agent(waiting("ErrImagePull", "no matching manifest for linux/arm64")), "platform", "PlatformMissing"),
    (agent(waiting("ErrImagePull", "toomanyrequests: slow down")), "image", "RateLimited"),
    (agent(waiting("RunContainerError", "exec format error")), "platform", "ExecFormatError"),
    (agent(waiting("CreateContainerError", "something else")), "crash", "StartFailed"),
    (agent(waiting("CrashLoopBackOff"), terminated("Error", 126)), "noexec", "PermissionDenied"),
    (agent(waiting("CrashLoopBackOff"), terminated("Error", 127)), "crash", "CommandNotFound"),
    (agent(waiting("CrashLoopBackOff"), terminated("Completed", 0)), "crash", "CrashLoopBackOff"),
    (agent(waiting("CrashLoopBackOff"), terminated("OOMKilled", 137)), "oom", "OOMKilled"),
    (agent(waiting("CrashLoopBackOff"), terminated("Error", 137)), "crash", "CrashLoopBackOff"),
    (agent(terminated("Error", 1)), "crash", "Exited"),
    (
        agent(
            waiting("CrashLoopBackOff"),
            {"terminated": {"reason": "ContainerStatusUnknown", "exitCode": 137, "message": "gone",
                            "startedAt": "0001-01-01T00:00:00Z", "finishedAt": "0001-01-01T00:00:00Z"}},
        ),
        "node_lost",
        "ContainerStatusUnknown",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("status", "category", "reason"), CONTAINERS)
def test_what_keeps_the_main_container_from_running(status: Json, category: str, reason: str) -> None:
    found = diagnose_pod(pod(status), "agent", [], 0.0)
    assert found is not None
    assert (found.category, found.reason) == (category, reason)


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Pending"},
        {},
        agent(waiting("ContainerCreating")),
        agent(waiting("PodInitializing")),
        agent({"running": {"startedAt": "2026-01-01T00:00:00Z"}}),
        agent({"running": {}}, terminated("OOMKilled", 137), 5),
    ],
)
def test_what_is_only_on_its_way_or_well_has_no_diagnosis(status: Json) -> None:
    assert diagnose_pod(pod(status), "agent", [], 0.0) is None


def test_a_broken_sidecar_is_no_fault_of_a_running_session() -> None:
    status = agent({"running": {}})
    status["containerStatuses"].insert(0, {"name": "mesh", "state": waiting("ImagePullBackOff")})
    assert diagnose_pod(pod(status), "agent", [], 0.0) is None


def test_an_init_container_that_failed_is_named_with_its_code() -> None:
    status = agent(waiting("PodInitializing"))
    status["phase"] = "Failed"
    status["initContainerStatuses"] = [{"name": "prep", "state": terminated("Error", 3)}]
    found = diagnose_pod(pod(status), "agent", [], 0.0)
    assert found is not None
    assert "init container prep ended: exit code 3" in found.message


def test_a_name_shared_by_an_init_container_is_not_taken_for_the_main_one() -> None:
    status = agent({"running": {}}, containerID="containerd://1")
    status["initContainerStatuses"] = [{"name": "agent", "state": terminated("Completed", 0)}]
    assert main_status(pod(status), "agent").container_id == "containerd://1"


def event(reason: str, message: str, at: str = "2026-01-01T00:00:00Z", uid: str = "u") -> Json:
    return {"reason": reason, "message": message, "lastTimestamp": at, "involvedObject": {"uid": uid}}


EVENTS = [
    ("FailedAttachVolume", "Multi-Attach error for volume", "claim", "MultiAttach"),
    ("FailedAttachVolume", "rpc error", "claim", "AttachFailed"),
    ("Failed", "Error: failed to reserve container name", "crash", "StartFailed"),
    ("FailedMount", 'secret "tls" not found', "config", "MountSourceMissing"),
    ("FailedMount", "exit status 32", "config", "MountFailed"),
    ("FailedCreatePodSandBox", 'no runtime for "runsc" is configured', "config", "RuntimeMissing"),
    ("FailedCreatePodSandBox", "cni plugin not initialized", "network", "SandboxFailed"),
]


@pytest.mark.parametrize(("reason", "message", "category", "found"), EVENTS)
def test_what_only_an_event_tells_is_told(reason: str, message: str, category: str, found: str) -> None:
    told = diagnose_pod(pod(agent(waiting("ContainerCreating"))), "agent", [event(reason, message)], 0.0)
    assert told is not None
    assert (told.category, told.reason) == (category, found)


def test_a_mount_that_came_right_is_forgotten() -> None:
    events = [event("FailedMount", "x"), event("Pulling", "image", "2026-01-01T00:01:00Z")]
    assert diagnose_pod(pod(agent(waiting("ContainerCreating"))), "agent", events, 0.0) is None


def test_events_in_the_new_api_or_without_any_time_are_read() -> None:
    assert event_time({"lastTimestamp": None, "eventTime": "1970-01-01T00:00:05.250000Z"}) == 5.25
    assert event_time({"lastTimestamp": None, "eventTime": None, "metadata": {}}) is None


BEFORE = MainContainer("agent", "container", "running", container_id="containerd://1", restart_count=1)


@pytest.mark.parametrize(
    ("observed", "cause"),
    [
        (None, "Pod deleted"),
        (pod(agent({"running": {}}), deletionTimestamp="2026-01-01T00:00:00Z"), "Pod deleted"),
        (pod(agent({"running": {}}, restarts=1, containerID="containerd://1")), None),
        (pod(agent({"running": {}}, restarts=2, containerID="containerd://2")), "container restart"),
        (pod(agent({"running": {}}, terminated("OOMKilled", 137), 2)), "OOMKilled"),
        (pod(agent({"running": {}}, terminated("ContainerStatusUnknown", 137), 2)), "node lost"),
        (pod(agent(terminated("OOMKilled", 137), restarts=1)), "OOMKilled"),
        (pod({"phase": "Running"}), None),
    ],
)
def test_each_interruption_has_one_word(observed: Json | None, cause: str | None) -> None:
    assert interruption_cause(observed, "agent", BEFORE) == cause


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        (AgentExit(signal=9, oom=True), "AgentOOMKilled"),
        (AgentExit(code=137, oom=True), "AgentOOMKilled"),
        (AgentExit(code=1, oom=True), "ChildOOMKilled"),
        (AgentExit(code=0, oom=True), "ChildOOMKilled"),
        (AgentExit(error="no such file"), "AgentNotStarted"),
        (AgentExit(code=137), None),
        (AgentExit(signal=9), None),
        (AgentExit(code=3), None),
        (AgentExit(), None),
    ],
)
def test_an_agents_end_is_oom_only_when_the_kernel_said_so(ended: AgentExit, reason: str | None) -> None:
    found = diagnose_agent_exit(ended)
    assert (found.reason if found else None) == reason


@pytest.mark.parametrize(
    ("error", "category", "why", "hint"),
    [
        ("not_found: x is not on PATH", "crash", "x is not on PATH", "after --"),
        ("not_executable: x: permission denied", "noexec", "x: permission denied", "after --"),
        ("not_found: working directory /w does not exist", "crash", "working directory /w", "--cwd"),
        ("not_executable: working directory /w: permission denied", "crash", "working directory", "--cwd"),
    ],
)
def test_a_start_that_failed_says_whether_program_or_directory(
    error: str, category: str, why: str, hint: str
) -> None:
    found = diagnose_agent_exit(AgentExit(error=error))
    assert found is not None
    assert found.category == category
    assert found.message.startswith(f"the agent could not be started: {why}")
    assert hint in found.hint


@pytest.mark.parametrize(
    ("status", "ready"), [("True", True), ("False", False), ("Unknown", None), (None, None)]
)
def test_ready_is_never_guessed(status: str | None, ready: bool | None) -> None:
    conditions = [{"type": "Ready", "status": status}] if status else []
    assert pod_ready(pod({"conditions": conditions})) is ready
    assert pod_ready(pod({"conditions": conditions}, deletionTimestamp="2026-01-01T00:00:00Z")) is False
    assert pod_ready(pod({"phase": "Unknown", "conditions": conditions})) is None


STATES: st.SearchStrategy[Json] = st.one_of(
    st.builds(waiting, st.text(max_size=20), st.text(max_size=2000)),
    st.builds(terminated, st.sampled_from(["OOMKilled", "Error", "StartError", ""]), st.integers(-1, 300),
              st.text(max_size=2000)),
    st.just({"running": {}}),
    st.just({}),
)  # fmt: skip
STATUSES = st.fixed_dictionaries(
    {
        "phase": st.sampled_from(["Pending", "Running", "Failed", "Succeeded", "Unknown", ""]),
        "reason": st.sampled_from(["", "Evicted", "OutOfcpu", "\x1b[31mred"]),
        "message": st.none() | st.text(max_size=2000),
        "containerStatuses": st.none() | st.lists(
            st.fixed_dictionaries({"name": st.sampled_from(["agent", "x"]), "state": STATES,
                                   "lastState": STATES, "restartCount": st.integers(0, 9)}), max_size=3),
    }
)  # fmt: skip


@given(STATUSES)
def test_no_status_whatsoever_breaks_a_verdict_or_reaches_a_terminal_raw(status: Json) -> None:
    found = diagnose_pod(pod(status), "agent", [], 0.0)
    if status["phase"] == "Failed" and main_status(pod(status), "agent").state != "running":
        assert found is not None
    if found is not None:
        text = found.message + found.hint + found.reason
        assert text.isprintable()
        assert len(found.message) <= 600


def of_the_agent(reason: str, message: str, second: int) -> Json:
    time = f"2026-01-01T00:00:{second:02}Z"
    about = {"uid": "u", "fieldPath": "spec.containers{agent}"}
    return {"reason": reason, "message": message, "lastTimestamp": time, "involvedObject": about}


PULLING = of_the_agent("Pulling", "Pulling image", 1)
REFUSED = of_the_agent("Failed", 'Failed to pull image "r/x": dial tcp 10.0.0.9:443: i/o timeout', 2)
PULLING_AGAIN = of_the_agent("Pulling", "Pulling image", 3)


def test_the_fault_of_the_last_pull_is_known_while_the_next_one_runs() -> None:
    creating = pod(agent(waiting("ContainerCreating")))
    found = diagnose_pod(creating, "agent", [PULLING, REFUSED, PULLING_AGAIN], 1e10)
    assert found is not None
    assert (found.reason, found.terminal) == ("RegistryUnreachable", False)
    assert "i/o timeout" in found.message


@pytest.mark.parametrize(
    "events",
    [[PULLING], [PULLING, REFUSED, PULLING_AGAIN, of_the_agent("Pulled", "", 4)]],
    ids=["first", "well"],
)
def test_a_pull_that_did_not_fail_is_no_fault(events: list[Json]) -> None:
    assert diagnose_pod(pod(agent(waiting("ContainerCreating"))), "agent", events, 1e10) is None
