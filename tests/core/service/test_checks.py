"""Executors and profiles: each fault is named by its field, all at once, and no secret is repeated."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.errors import DocumentError, Problem
from moorage.core.service import checks
from moorage.core.service.checks import check_executor, check_profile
from moorage.core.service.records import (
    AuthMode,
    EnvEntry,
    ExecutorSpec,
    InjectedFile,
    Policy,
    ProfileSpec,
    Verdict,
)
from moorage.core.session import HelperSpec, WorkspaceMode, WorkspaceSpec, change

TEMPLATE = """\
apiVersion: v1
kind: PodTemplate
metadata:
  name: plain
template:
  spec:
    containers:
      - name: agent
        image: example.org/agent@sha256:0000000000000000000000000000000000000000000000000000000000000000
"""
FILE = ExecutorSpec(AuthMode.KUBECONFIG, "agents", "/etc/kubeconfig", "lab")
INSIDE = ExecutorSpec(AuthMode.IN_CLUSTER, "agents")
PROFILE = ProfileSpec(TEMPLATE)


def faults(problems: list[Problem]) -> set[tuple[str, str]]:
    assert all(found.message and found.field for found in problems)
    return {(found.field.removeprefix("spec."), found.code) for found in problems}


@pytest.mark.parametrize("spec", [FILE, INSIDE, change(FILE, kube_context="", request_timeout_seconds=300)])
def test_a_sound_executor_has_no_fault(spec: ExecutorSpec) -> None:
    assert check_executor(spec) == []


EXECUTORS: list[tuple[ExecutorSpec, dict[str, Any], set[tuple[str, str]]]] = [
    (FILE, {"type": "ssh"}, {("type", "type")}),
    (FILE, {"namespace": ""}, {("namespace", "name")}),
    (FILE, {"namespace": "Agents"}, {("namespace", "name")}),
    (FILE, {"namespace": "a.b"}, {("namespace", "name")}),
    (FILE, {"namespace": "a" * 64}, {("namespace", "name")}),
    (FILE, {"namespace": "agents\n"}, {("namespace", "name")}),
    (FILE, {"request_timeout_seconds": 0}, {("request_timeout_seconds", "range")}),
    (FILE, {"request_timeout_seconds": 301}, {("request_timeout_seconds", "range")}),
    (FILE, {"kubeconfig_path": ""}, {("kubeconfig_path", "required")}),
    (FILE, {"kubeconfig_path": "kubeconfig"}, {("kubeconfig_path", "path")}),
    (FILE, {"kubeconfig_path": "~/.kube/config"}, {("kubeconfig_path", "path")}),
    (FILE, {"kubeconfig_path": "/etc/../root/kubeconfig"}, {("kubeconfig_path", "path")}),
    (FILE, {"kubeconfig_path": "/etc/x\0"}, {("kubeconfig_path", "path")}),
    (FILE, {"kubeconfig_path": "/" + "x" * 5000}, {("kubeconfig_path", "path")}),
    (FILE, {"kube_context": "a\nb"}, {("kube_context", "text")}),
    (INSIDE, {"kubeconfig_path": "/etc/kubeconfig"}, {("kubeconfig_path", "mode")}),
    (INSIDE, {"kube_context": "lab"}, {("kube_context", "mode")}),
    (
        INSIDE,
        {"type": "", "namespace": "-", "request_timeout_seconds": -1, "kube_context": "lab"},
        {
            ("type", "type"),
            ("namespace", "name"),
            ("request_timeout_seconds", "range"),
            ("kube_context", "mode"),
        },
    ),
]


@pytest.mark.parametrize(("spec", "changed", "expected"), EXECUTORS)
def test_every_fault_of_an_executor_is_named(
    spec: ExecutorSpec, changed: dict[str, Any], expected: set[tuple[str, str]]
) -> None:
    assert faults(check_executor(change(spec, **changed))) == expected


SOUND: list[dict[str, Any]] = [
    {},
    {"platform": "linux/arm64"},
    {"preset": "claude-code"},
    {"command": ("sh", "-c", "")},
    {"workspace": WorkspaceSpec(WorkspaceMode.EMPTY_DIR)},
    {"env": (EnvEntry("A"), EnvEntry("b_1", "plain"), EnvEntry("C", secret="moorage://key.of-mine"))},
]


@pytest.mark.parametrize("changed", SOUND)
def test_a_sound_profile_has_no_fault(changed: dict[str, Any]) -> None:
    assert check_profile(change(PROFILE, **changed)) == []


NO_CLAIM = WorkspaceSpec(WorkspaceMode.EXISTING_CLAIM)
YAML = "pod_template_yaml"
NOT_OFFERED = {("files", "not_offered")}
PROFILES: list[tuple[dict[str, Any], set[tuple[str, str]]]] = [
    ({"platform": "windows/amd64"}, {("platform", "choice")}),
    ({"main_container": "other"}, {(f"{YAML}.template.spec.containers", "missing_main_container")}),
    ({"helper": HelperSpec("tape")}, {("helper.source", "choice")}),
    ({"helper": HelperSpec("exec", "x")}, {("helper.image", "mode")}),
    ({"helper": HelperSpec("image")}, {("helper.image", "required")}),
    ({"helper": HelperSpec("image", "repo:latest")}, {("helper.image", "helper_image_not_pinned")}),
    (
        {"workspace": WorkspaceSpec(WorkspaceMode.EMPTY_DIR, size="1Gi", claim_name="x")},
        {
            ("workspace.size", "workspace_field_of_other_mode"),
            ("workspace.claim_name", "workspace_field_of_other_mode"),
        },
    ),
    ({"preset": "codex", "command": ("codex",)}, {("command", "mode")}),
    ({"command": ("",)}, {("command[0]", "text")}),
    ({"command": ("sh", "\0")}, {("command[1]", "text")}),
    ({"command": ("sh", "\udcff")}, {("command[1]", "text")}),
    ({"command": ("sh", "x" * 200_000)}, {("command", "size")}),
    ({"env": (EnvEntry("1A"),)}, {("env[0].name", "env_name")}),
    ({"env": (EnvEntry("A-B"),)}, {("env[0].name", "env_name")}),
    ({"env": (EnvEntry("AGENTCTL_X"),)}, {("env[0].name", "reserved")}),
    ({"env": (EnvEntry("MOORAGE_TOKEN"),)}, {("env[0].name", "reserved")}),
    ({"env": (EnvEntry("A", "1"), EnvEntry("A", "2"))}, {("env[1].name", "duplicate")}),
    ({"env": (EnvEntry("A", "v", "moorage://x"),)}, {("env[0].secret", "mode")}),
    ({"env": (EnvEntry("A", "v\0"),)}, {("env[0].value", "text")}),
    ({"env": (EnvEntry("A", secret="k8s-secret://name#key"),)}, {("env[0].secret", "not_offered")}),
    *(
        ({"env": (EnvEntry("A", secret=text),)}, {("env[0].secret", "reference")})
        for text in ("token", "moorage://", "moorage://a/b", "k8s-secret://n", "k8s-secret://N_#k", "x://a")
    ),
    ({"env": tuple(EnvEntry(f"A{n}") for n in range(257))}, {("env", "size")}),
    *(
        ({"files": (InjectedFile(path),)}, NOT_OFFERED | {("files[0].path", "path")})
        for path in ("", "/etc/passwd", "../x", "..", ".", "a/../../x", "a//b", "a/", "./a", "a\nb")
    ),
    ({"files": (InjectedFile("a"), InjectedFile("a"))}, NOT_OFFERED | {("files[1].path", "duplicate")}),
    ({"files": (InjectedFile("a", mode=0o1777),)}, NOT_OFFERED | {("files[0].mode", "range")}),
    ({"files": (InjectedFile("a", "x" * 300_000),)}, NOT_OFFERED | {("files[0].content", "size")}),
    ({"files": (InjectedFile("a", "x", "moorage://x"),)}, NOT_OFFERED | {("files[0].secret", "mode")}),
    ({"script": "x" * 300_000}, {("script", "size"), ("script", "not_offered")}),
    ({"pool": "warm"}, {("pool", "not_offered")}),
    ({YAML: TEMPLATE + "    hostNetwork: 1\n"}, {(f"{YAML}.template.spec.hostNetwork", "wrong_type")}),
    (
        {"platform": "x", "env": (EnvEntry("", "v", "s"),), "workspace": NO_CLAIM},
        {
            ("platform", "choice"),
            ("env[0].name", "env_name"),
            ("env[0].secret", "mode"),
            ("env[0].secret", "reference"),
            ("workspace.claim_name", "workspace_claim_missing"),
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "expected"), PROFILES)
def test_every_fault_of_a_profile_is_named(changed: dict[str, Any], expected: set[tuple[str, str]]) -> None:
    assert faults(check_profile(change(PROFILE, **changed))) == expected


def test_a_fault_of_the_template_tells_its_line() -> None:
    (problem,) = check_profile(change(PROFILE, pod_template_yaml=TEMPLATE + "    nodeName: here\n"))
    assert (problem.field, problem.line) == ("spec.pod_template_yaml.template.spec.nodeName", 10)


def test_a_secret_put_where_its_reference_belongs_is_in_no_message() -> None:
    spec = change(
        PROFILE, env=(EnvEntry("A", secret="sk-planted"),), files=(InjectedFile("a", secret="sk-planted"),)
    )
    assert "sk-planted" not in repr(check_profile(spec))


def test_what_a_policy_refuses_is_a_fault_and_without_it_a_warning() -> None:
    risky = TEMPLATE + "    volumes: [{name: host, hostPath: {path: /}}]\n"
    spec = change(PROFILE, pod_template_yaml=risky)
    assert check_profile(spec) == []
    assert check_profile(spec, [Policy("host_path", Verdict.WARN, 0.0)]) == []
    (problem,) = check_profile(spec, [Policy("host_path", Verdict.REFUSE, 0.0)])
    assert problem.code == "host_path"
    assert "policy" in problem.message


def test_what_is_not_sound_is_raised_with_all_faults() -> None:
    checks.require([], "the profile")
    problems = check_executor(change(FILE, type="ssh", namespace=""))
    with pytest.raises(DocumentError, match=r"the executor is not valid: spec\.type") as caught:
        checks.require(problems, "the executor")
    assert caught.value.problems == problems


@pytest.mark.parametrize(
    ("reference", "name"), [("moorage://a-b", "a-b"), ("moorage://", ""), ("k8s-secret://a#b", ""), ("a", "")]
)
def test_the_name_of_a_stored_secret_is_read_from_its_reference(reference: str, name: str) -> None:
    assert checks.secret_name(reference) == name
