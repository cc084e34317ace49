"""What ``template check`` says a launch adds is what a launch adds: nothing missing, nothing more."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.core.kinds import Json
from moorage.core.session import HelperSpec, Identity, Inventory, LaunchSnapshot, WorkspaceMode, WorkspaceSpec
from moorage.core.template import Addition, TemplateOptions, parse_template
from moorage.core.workload import session_pod

GOOD: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "golden" / "good_templates.yaml").read_text()
)
IDENTITY = Identity("install", "executor", "profile", "task", "session")
# Values that only a launch knows.
PER_LAUNCH = {"per session", "fresh for each create", "Moorage's own", "the helper image"}
WAYS = [("managed_pvc", "exec", "linux/amd64"), ("existing_claim", "image", "linux/arm64")]
WAYS += [("empty_dir", "image", "linux/amd64")]


def launched(template: Json, options: TemplateOptions) -> Json:
    """The Pod that a launch of ``template`` would create."""
    mode = WorkspaceMode(options.workspace_mode)
    claim = "given" if mode is WorkspaceMode.EXISTING_CLAIM else ""
    helper = HelperSpec(options.helper_source, "helper@sha256:0" if options.helper_source == "image" else "")
    snapshot = LaunchSnapshot(
        template, options.platform, options.main_container, WorkspaceSpec(mode, claim_name=claim), helper
    )
    inventory = Inventory("ns", "uid", "address", "ca", "pod", "claim", snapshot, "", "", "")
    return session_pod(IDENTITY, inventory, "nonce", entrypoint=["sh"])


def look_up(pod: Json, field: str) -> Any:
    """The value at a field path of a Pod; a name in brackets finds a list's item by name."""
    value: Any = pod
    for part in re.findall(r"[^.\[\]]+(?=[.\[]|$)|\[[^\]]*\]", field.removeprefix("template.")):
        key = part.strip("[]")
        if isinstance(value, list):
            by = "mountPath" if key.startswith("/") else "name"
            value = value[int(key)] if key.isdigit() else [item for item in value if item[by] == key][-1]
        else:
            value = value[key]
    return value


def said(addition: Addition, value: Any) -> Any:
    """The part of a Pod's value that an addition speaks of."""
    if "volumeMounts[" in addition.field:
        return value["name"]
    if "env[" in addition.field:
        return value["valueFrom"]["fieldRef"]["fieldPath"]
    if "volumes[moorage-workspace]" in addition.field:
        source = {"managed_pvc": "claim", "existing_claim": "given"}.get(addition.value)
        assert value.get("persistentVolumeClaim", {}).get("claimName") == source
        return addition.value
    return (
        {name: part for name, part in value.items() if name != "name"}
        if "volumes[" in addition.field
        else value
    )


@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize("case", GOOD, ids=[case["name"] for case in GOOD])
def test_every_addition_shown_stands_in_the_pod_that_is_launched(
    case: dict[str, Any], way: tuple[str, ...]
) -> None:
    mode, helper, platform = way
    main = case.get("options", {}).get("main_container", "agent")
    options = TemplateOptions(main, platform, mode, helper_source=helper)
    checked = parse_template(case["document"], options)
    assert checked.template is not None
    pod = launched(checked.template, options)
    for addition in checked.additions:
        if addition.field.endswith((".args", ".workingDir")):
            continue  # forced to be absent
        value = said(addition, look_up(pod, addition.field))
        assert addition.value in (value, *PER_LAUNCH), addition.field


@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize("case", GOOD, ids=[case["name"] for case in GOOD])
def test_nothing_is_added_that_is_not_shown(case: dict[str, Any], way: tuple[str, ...]) -> None:
    mode, helper, platform = way
    main = case.get("options", {}).get("main_container", "agent")
    options = TemplateOptions(main, platform, mode, helper_source=helper)
    checked = parse_template(case["document"], options)
    assert checked.template is not None
    pod = launched(checked.template, options)
    shown = {re.sub(r"\[.*", "", addition.field).split(".")[2] for addition in checked.additions}
    before, after = checked.template["spec"], pod["spec"]
    assert {name for name in after if after[name] != before.get(name)} <= shown
    for part in ("labels", "annotations"):
        added = pod["metadata"][part].keys() - checked.template["metadata"][part].keys()
        assert added == {
            a.field.split("[")[1][:-1] for a in checked.additions if f"metadata.{part}[" in a.field
        }
    for container in before["containers"]:
        if container["name"] != options.main_container:
            assert container in after["containers"]
    main_after = next(c for c in after["containers"] if c["name"] == options.main_container)
    mounts = {a.field.split("volumeMounts[")[1][:-1] for a in checked.additions if "volumeMounts[" in a.field}
    main_before = next(c for c in before["containers"] if c["name"] == options.main_container)
    own = {mount["mountPath"] for mount in main_before.get("volumeMounts", [])}
    assert {mount["mountPath"] for mount in main_after["volumeMounts"]} <= mounts | own


SPEAKS = """apiVersion: v1
kind: PodTemplate
template:
  metadata:
    annotations:
      karpenter.sh/do-not-disrupt: "false"
      cluster-autoscaler.kubernetes.io/safe-to-evict: "true"
  spec:
    enableServiceLinks: true
    automountServiceAccountToken: false
    securityContext: {runAsUser: 1000, fsGroup: 2000}
    containers: [{name: agent, image: agent:1}]
"""


def test_what_the_template_says_is_not_added_to() -> None:
    checked = parse_template(SPEAKS)
    assert [addition.field for addition in checked.additions if addition.how == "added"] == []


@pytest.mark.parametrize(
    ("pod", "main", "mode", "group"),
    [
        ("{runAsUser: 1000}", "{}", "managed_pvc", 1000),
        ("{runAsUser: 1000, runAsGroup: 3000}", "{}", "existing_claim", 3000),
        ("{runAsUser: 1000}", "{runAsUser: 2000}", "managed_pvc", 2000),
        ("{runAsUser: 1000}", "{runAsUser: 0}", "managed_pvc", None),
        ("{}", "{}", "managed_pvc", None),
        ("{runAsUser: 1000}", "{}", "empty_dir", None),
        ("{runAsUser: 1000, fsGroup: 5}", "{}", "managed_pvc", None),
    ],
)
def test_a_claim_is_given_to_the_group_of_the_main_container_s_user(
    pod: str, main: str, mode: str, group: int | None
) -> None:
    text = SPEAKS.replace("{runAsUser: 1000, fsGroup: 2000}", pod)
    text = text.replace("image: agent:1", f"image: agent:1, securityContext: {main}")
    checked = parse_template(text, TemplateOptions(workspace_mode=mode))
    added = {addition.field: addition.value for addition in checked.additions}
    assert added.get("template.spec.securityContext.fsGroup") == group
    policy = added.get("template.spec.securityContext.fsGroupChangePolicy")
    assert policy == ("OnRootMismatch" if group else None)
