"""A risk is warned of, or with the policy on refused, under the same code and place. A field that only
the connected server knows is a warning and goes out as written."""

from __future__ import annotations

import pytest

from moorage.core.template import TemplateOptions, check_template

TEMPLATE = """apiVersion: v1
kind: PodTemplate
template:
  spec:
    {spec}
    containers:
      - name: agent
        image: {image}
        securityContext: {security}
        ports: {ports}
        volumeMounts: {mounts}
"""
QUIET = {"spec": "priority: 1", "image": "agent:1", "security": "{}", "ports": "[]", "mounts": "[]"}
MOUNTED = "[{name: v, mountPath: /v}]"


def token(source: str) -> dict[str, str]:
    volume = f"{{name: v, projected: {{sources: [{{serviceAccountToken: {source}}}]}}}}"
    return {"spec": f"volumes: [{volume}]", "mounts": MOUNTED}


RISKS = [
    ("host_namespace", "hostNetwork", {"spec": "hostNetwork: true"}),
    ("host_namespace", "hostPID", {"spec": "hostPID: true"}),
    ("host_namespace", "hostIPC", {"spec": "hostIPC: true"}),
    ("shared_processes", "shareProcessNamespace", {"spec": "shareProcessNamespace: true"}),
    ("token_automount", "automountServiceAccountToken", {"spec": "automountServiceAccountToken: true"}),
    ("host_path", "volumes[0].hostPath",
     {"spec": "volumes: [{name: v, hostPath: {path: /}}]", "mounts": MOUNTED}),
    ("api_token", "volumes[0].projected.sources[0].serviceAccountToken", token("{path: t}")),
    ("api_token", "volumes[0].projected.sources[0].serviceAccountToken",
     token("{path: t, audience: https://kubernetes.default.svc.cluster.local}")),
    ("mutable_image", "containers[0].image", {"image": "agent"}),
    ("mutable_image", "containers[0].image", {"image": "registry.example:5000/agent:latest"}),
    ("mutable_image", "containers[0].image", {"image": "agent:main"}),
    ("host_port", "containers[0].ports[0].hostPort", {"ports": "[{containerPort: 80, hostPort: 80}]"}),
    ("privileged", "containers[0].securityContext.privileged", {"security": "{privileged: true}"}),
    ("privilege_escalation", "containers[0].securityContext.allowPrivilegeEscalation",
     {"security": "{allowPrivilegeEscalation: true}"}),
    ("unmasked_proc", "containers[0].securityContext.procMount", {"security": "{procMount: Unmasked}"}),
    ("added_capability", "containers[0].securityContext.capabilities.add[0]",
     {"security": "{capabilities: {add: [NET_ADMIN], drop: [ALL]}}"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "field", "changes"), RISKS, ids=[f"{code} {changes}" for code, _, changes in RISKS]
)
def test_a_risk_is_a_warning_and_with_the_policy_an_error(
    code: str, field: str, changes: dict[str, str]
) -> None:
    text, field = TEMPLATE.format(**{**QUIET, **changes}), f"template.spec.{field}"
    warned = check_template(text)
    assert warned.valid
    assert [(problem.code, problem.field) for problem in warned.warnings] == [(code, field)]
    refused = check_template(text, TemplateOptions(refuse_policy=True))
    assert refused.warnings == ()
    assert [(problem.code, problem.field) for problem in refused.errors] == [(code, field)]
    warning, error = warned.warnings[0], refused.errors[0]
    assert (error.line, error.column, error.hint) == (warning.line, warning.column, warning.hint)


HARMLESS = [
    {"spec": "hostNetwork: false"},
    {"spec": "automountServiceAccountToken: false"},
    {"spec": "hostUsers: false"},
    {"image": "agent:1.2"},
    {"image": "agent:latest@sha256:" + "0" * 64},
    {"security": "{privileged: false, allowPrivilegeEscalation: false, procMount: Default}"},
    {"security": "{capabilities: {drop: [ALL]}}"},
    {"ports": "[{containerPort: 80, hostPort: 0}]"},
    token("{path: t, audience: vault}"),
]


@pytest.mark.parametrize("changes", HARMLESS, ids=str)
def test_what_is_no_risk_passes_the_strictest_policy_without_a_word(changes: dict[str, str]) -> None:
    text = TEMPLATE.format(**{**QUIET, **changes})
    checked = check_template(text, TemplateOptions(refuse_policy=True, transport="portforward"))
    assert (checked.errors, checked.warnings) == ((), ())


def test_an_unused_volume_stays_a_warning_under_any_policy() -> None:
    text = TEMPLATE.format(**{**QUIET, "spec": "volumes: [{name: v}]"})
    checked = check_template(text, TemplateOptions(refuse_policy=True))
    assert checked.valid
    assert [problem.code for problem in checked.warnings] == ["unused_volume"]


def test_host_network_forces_the_link_off_portforward() -> None:
    text = TEMPLATE.format(**{**QUIET, "spec": "hostNetwork: true"})
    assert check_template(text, TemplateOptions(transport="exec")).valid
    assert "the link will use the transport exec" in check_template(text).warnings[0].message
    refused = check_template(text, TemplateOptions(transport="portforward"))
    assert [problem.code for problem in refused.errors] == ["host_network"]


def test_a_field_only_the_server_knows_is_a_warning_and_goes_out_as_written() -> None:
    text = TEMPLATE.format(**{**QUIET, "spec": "tomorrow: {deep: [1, no]}"})
    asked: list[str] = []

    def known(path: str) -> bool:
        asked.append(path)
        return path == "template.spec.tomorrow"

    checked = check_template(text, known_elsewhere=known)
    assert asked == ["template.spec.tomorrow"]
    assert checked.valid
    assert [problem.code for problem in checked.warnings] == ["unknown_here"]
    assert checked.template is not None
    assert checked.template["spec"]["tomorrow"] == {"deep": [1, False]}


def test_a_field_nobody_knows_is_an_error() -> None:
    text = TEMPLATE.format(**{**QUIET, "spec": "tomorrow: 1"})
    assert [problem.code for problem in check_template(text, known_elsewhere=lambda path: False).errors] == [
        "unknown_field"
    ]
