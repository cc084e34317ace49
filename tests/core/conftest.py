"""Objects that the pure tests start from: one identity, one template, one inventory, and recorded ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from moorage.core.session import (
    HelperSpec,
    Identity,
    Inventory,
    IssuedNonce,
    LaunchSnapshot,
    WorkspaceMode,
    WorkspaceSpec,
)

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"team": "blue"}, "annotations": {"note": "kept"}},
    "spec": {
        "securityContext": {"runAsUser": 1000},
        "containers": [
            {
                "name": "sidecar",
                "image": "localhost/busybox:test",
                "command": ["sleep", "1000"],
                "volumeMounts": [{"name": "moorage-workspace", "mountPath": "/workspace", "readOnly": True}],
            },
            {
                "name": "agent",
                "image": "localhost/busybox:test",
                "env": [{"name": "COLOR", "value": "blue"}],
                "resources": {"limits": {"memory": "128Mi"}},
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            },
        ],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    },
}


@pytest.fixture
def identity() -> Identity:
    return Identity("install1", "exec1", "profile1", "task1", "session1")


@pytest.fixture
def make_inventory() -> Callable[..., Inventory]:
    """Build an inventory; keywords replace its parts."""

    def make(
        *,
        template: dict[str, Any] | None = None,
        workspace: WorkspaceSpec | None = None,
        helper: HelperSpec | None = None,
        platform: str = "linux/amd64",
        nonces: tuple[IssuedNonce, ...] = (),
        **fields: Any,
    ) -> Inventory:
        snapshot = LaunchSnapshot(
            template=deepcopy(template if template is not None else TEMPLATE),
            platform=platform,
            main_container="agent",
            workspace=workspace or WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Gi"),
            helper=helper or HelperSpec(),
        )
        return Inventory(
            **{
                "namespace": "obj-dev",
                "namespace_uid": "ns-uid",
                "server_address": "https://api.example:6443",
                "server_ca_sha256": "ca",
                "pod_name": "moorage-session1",
                "claim_name": "moorage-session1-workspace",
                "snapshot": snapshot,
                "template_hash": "t",
                "config_hash": "c",
                "bootstrap_ref": "ref",
                "nonces": nonces,
                **fields,
            }
        )

    return make


@pytest.fixture
def recorded() -> Callable[[str], Any]:
    """Read an object that a real API server or kubelet made, from fixtures/NAME.json."""
    return lambda name: json.loads((Path(__file__).parent / "fixtures" / f"{name}.json").read_text())
