"""Statuses and events that a real kubelet and scheduler wrote, and the verdict on each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from moorage.core.diagnosis import diagnose_pod, interruption_cause, start_steps

LATER = 2e9
"""Long after every recorded event."""

TABLE = [
    ("invalid_image", "image", "InvalidImageName", "must be lowercase", True),
    ("image_missing", "image", "RegistryUnreachable", "connection refused", True),
    ("never_pull", "image", "ErrImageNeverPull", "localhost/absent:1", True),
    ("config_env", "config", "CreateContainerConfigError", 'secret "nosuch" not found', False),
    ("config_volume", "config", "MountSourceMissing", 'configmap "nosuch" not found', False),
    ("unschedulable_cpu", "unschedulable", "InsufficientResources", "1 Insufficient cpu", False),
    ("unschedulable_arch", "unschedulable", "NodeSelector", "node affinity/selector", False),
    ("gated", "unschedulable", "Queued", "queue.example/wait", False),
    ("claim_missing", "claim", "ClaimMissing", '"nosuch" not found', False),
    ("no_shell", "crash", "NoShell", "/nosuch/sh", True),
    ("no_shell_path", "crash", "NoShell", "nosuchsh", True),
    ("not_executable", "noexec", "PermissionDenied", "/etc/hostname", True),
    ("exit_3", "crash", "CrashLoopBackOff", "exit code 3; its last words: last words", True),
    ("init_exit", "crash", "CrashLoopBackOff", "init container prep ended: exit code 7", True),
    ("oom", "oom", "OOMKilled", "memory limit", True),
]


@pytest.mark.parametrize(("name", "category", "reason", "said", "terminal"), TABLE)
def test_each_recorded_fault_has_its_verdict(
    recorded: Callable[[str], Any], name: str, category: str, reason: str, said: str, terminal: bool
) -> None:
    case = recorded(f"pod_{name}")
    found = diagnose_pod(case["pod"], "agent", case["events"], LATER)
    assert found is not None
    assert (found.category, found.reason, found.terminal) == (category, reason, terminal)
    assert said in found.message
    assert found.hint


def test_a_running_pod_has_no_diagnosis_and_no_interruption(recorded: Callable[[str], Any]) -> None:
    case = recorded("pod_running")
    assert diagnose_pod(case["pod"], "agent", case["events"], LATER) is None
    assert interruption_cause(case["pod"], "agent", None) is None


def test_steps_of_a_start_are_told_in_order(recorded: Callable[[str], Any]) -> None:
    case = recorded("pod_running")
    steps = start_steps(case["pod"], "agent", case["events"])
    assert [step for step, _ in steps] == ["schedule", "pull", "start"]
    assert "node1" in steps[0][1]


def test_steps_are_told_without_the_right_to_read_events(recorded: Callable[[str], Any]) -> None:
    steps = start_steps(recorded("pod_running")["pod"], "agent", [])
    assert steps == [("schedule", "on node node1"), ("start", "container agent is running")]


def test_events_of_an_earlier_pod_of_that_name_say_nothing(recorded: Callable[[str], Any]) -> None:
    case = recorded("pod_config_volume")
    case["pod"]["metadata"]["uid"] = "another"
    assert diagnose_pod(case["pod"], "agent", case["events"], LATER) is None
    assert [step for step, _ in start_steps(case["pod"], "agent", case["events"])] == ["schedule"]


def test_a_pull_that_fails_for_a_moment_is_not_yet_the_end(recorded: Callable[[str], Any]) -> None:
    case = recorded("pod_image_missing")
    found = diagnose_pod(case["pod"], "agent", case["events"], 0.0)
    assert found is not None
    assert (found.category, found.terminal) == ("image", False)


@pytest.mark.parametrize(
    ("name", "cause"),
    [("oom", "OOMKilled"), ("exit_3", "container restart"), ("no_shell", "container restart")],
)
def test_a_container_that_went_has_a_cause(recorded: Callable[[str], Any], name: str, cause: str) -> None:
    assert interruption_cause(recorded(f"pod_{name}")["pod"], "agent", None) == cause
