"""A real API server's defaults and spellings are no changes of a template: none is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage import kube
from moorage.core.admitted import author_changes
from moorage.core.errors import ApiError
from moorage.core.kinds import PODS
from moorage.core.session import HelperSpec, Identity, Inventory, LaunchSnapshot, WorkspaceMode, WorkspaceSpec
from moorage.core.template import TemplateOptions, parse_template
from moorage.core.workload import session_pod

GOLDEN = Path(__file__).parents[2] / "core" / "golden"
CASES: list[dict[str, Any]] = [
    case
    for name in ("good_templates.yaml", "catalogue_accepted.yaml")
    for case in yaml.safe_load((GOLDEN / name).read_text())
]


@pytest.mark.newest  # an older server drops what it does not know, and that is told
@pytest.mark.cluster
async def test_of_what_the_server_fills_in_or_writes_otherwise_nothing_is_told(
    kubeconfig: Path, namespace: str
) -> None:
    connected = kube.connect(str(kubeconfig), None, namespace)
    told, answered = {}, 0
    for case in CASES:
        main = case.get("options", {}).get("main_container", "agent")
        template = parse_template(case["document"], TemplateOptions(main)).template
        assert template is not None
        workspace = WorkspaceSpec(WorkspaceMode.MANAGED_PVC)
        snapshot = LaunchSnapshot(template, "linux/amd64", main, workspace, HelperSpec())
        inventory = Inventory(namespace, "u", "a", "c", "session", "claim", snapshot, "", "", "")
        pod = session_pod(Identity("i", "e", "p", "t", "s"), inventory, "0" * 64, entrypoint=["sh"])
        try:
            admitted = await connected.create(PODS, pod, namespace, dry_run=True)
        except ApiError:  # of another test: what the check accepts, the server accepts
            continue
        answered += 1
        if changed := author_changes(pod, admitted):
            told[case["name"]] = changed
    await connected.close()
    assert told == {}
    assert answered > len(CASES) / 2
