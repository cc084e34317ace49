"""A real API server takes what the template check takes: every accepted shape, with all that a launch adds.

Judged by the server's strict dry run; nothing is created. The other way round the check may refuse more:
what is Moorage's own, and what only an image registry or a person would find out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage import kube
from moorage.core.document.nodes import plain
from moorage.core.document.read import read_document
from moorage.core.errors import ApiError
from moorage.core.kinds import PODS, Json
from moorage.core.session import HelperSpec, Identity, Inventory, LaunchSnapshot, WorkspaceMode, WorkspaceSpec
from moorage.core.template import TemplateOptions, check_template, parse_template
from moorage.core.workload import session_pod

GOLDEN = Path(__file__).parents[2] / "core" / "golden"
GOOD: list[dict[str, Any]] = yaml.safe_load((GOLDEN / "good_templates.yaml").read_text())
BAD: list[dict[str, Any]] = yaml.safe_load((GOLDEN / "bad_templates.yaml").read_text())
# Needs something that this cluster does not have.
MISSING = {"gVisor with aliases, terminal, spread and host aliases": "PriorityClass"}
# What Kubernetes itself says no to; the rest of the codes is Moorage's alone.
SERVERS = {
    "not_text",
    "wrong_type",
    "unknown_field",
    "bad_quantity",
    "out_of_range",
    "bad_name",
    "bad_path",
    "one_of",
}
# Kubernetes takes these, and the Pod then does what nobody meant: an empty value, a secret that cannot be.
STRICTER = {"null in a variable", "secret of another namespace"}
HELPER = "registry.example/moorage-helper@sha256:" + "0" * 64


@pytest.fixture
async def api(kubeconfig: Path, namespace: str) -> AsyncIterator[kube.KubeCluster]:
    connected = kube.connect(str(kubeconfig), None, namespace)
    yield connected
    await connected.close()


def launched(template: Json, main: str, helper: str, mode: WorkspaceMode, namespace: str) -> Json:
    source = HelperSpec(helper, HELPER if helper == "image" else "")
    snapshot = LaunchSnapshot(template, "linux/amd64", main, WorkspaceSpec(mode), source)
    inventory = Inventory(namespace, "u", "a", "c", "session", "claim", snapshot, "", "", "")
    return session_pod(Identity("i", "e", "p", "t", "s"), inventory, "0" * 64, entrypoint=["sh"])


async def answer(api: kube.KubeCluster, pod: Json, namespace: str) -> str:
    """What the server's strict dry run says against a Pod; empty when it is accepted."""
    try:
        await api.create(PODS, pod, namespace, dry_run=True)
    except ApiError as error:
        return error.message
    return ""


@pytest.mark.cluster
@pytest.mark.parametrize(("helper", "mode"), [("exec", "managed_pvc"), ("image", "empty_dir")])
@pytest.mark.parametrize("case", GOOD, ids=[case["name"] for case in GOOD])
async def test_what_the_check_accepts_the_server_accepts(
    api: kube.KubeCluster, namespace: str, case: dict[str, Any], helper: str, mode: str
) -> None:
    main = case.get("options", {}).get("main_container", "agent")
    checked = parse_template(
        case["document"], TemplateOptions(main, workspace_mode=mode, helper_source=helper)
    )
    assert checked.template is not None
    pod = launched(checked.template, main, helper, WorkspaceMode(mode), namespace)
    said = await answer(api, pod, namespace)
    missing = MISSING.get(case["name"], "")
    assert missing in said
    assert bool(said) == bool(missing), said


def server_s(case: dict[str, Any]) -> bool:
    codes = {row["code"] for row in case["problems"]}
    is_pod = codes and "template" not in {row["field"] for row in case["problems"]}
    return bool(is_pod) and codes <= SERVERS and not case.get("options") and case["name"] not in STRICTER


@pytest.mark.cluster
@pytest.mark.parametrize("case", [case for case in BAD if server_s(case)], ids=lambda case: case["name"])
async def test_what_the_check_calls_wrong_for_kubernetes_the_server_refuses(
    api: kube.KubeCluster, namespace: str, case: dict[str, Any]
) -> None:
    root = read_document(case["document"]).root
    assert root is not None
    template = plain(root)["template"]
    assert not check_template(case["document"]).valid
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"] = {**(template.get("metadata") or {}), "name": "session"}
    assert await answer(api, pod, namespace)
