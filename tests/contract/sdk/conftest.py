"""A place for sandboxes: a namespace of the cluster, a data folder, and a template on the test image."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage import Place
from tests.contract.data_folder import left_in

TEMPLATE = b"""\
apiVersion: v1
kind: PodTemplate
metadata: {name: test}
template:
  spec:
    terminationGracePeriodSeconds: 2
    containers:
    - {name: agent, image: "localhost/busybox:test", imagePullPolicy: Never}
"""


@pytest.fixture
def place(kubeconfig: Path, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Where the sandboxes of this test go. Settings of whoever runs it say nothing."""
    for name in [name for name in os.environ if name.startswith("MOORAGE_") and "TEST" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MOORAGE_CONFIG_DIR", str(tmp_path / "config"))
    return Place(kubeconfig=str(kubeconfig), namespace=namespace, data_dir=str(tmp_path / "data"))


@pytest.fixture
def left(kubectl: Callable[..., str], namespace: str, place: Place) -> Callable[[], list[str]]:
    """`left()` → what is still there of sandboxes: Pods and claims, rows and files."""

    def look() -> list[str]:
        names = kubectl("-n", namespace, "get", "pods,pvc", "-o", "name").split()
        return [*names, *left_in(Path(place.data_dir))]

    return look
