"""A cluster in which faults are armed, and the product's own client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moorage import kube
from moorage.embedded import EmbeddedCluster
from tests.faults.knob import Armed


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[EmbeddedCluster]:
    """Running, without a node."""
    made = EmbeddedCluster(tmp_path / "cluster")
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def armed(here: EmbeddedCluster) -> Armed:
    """The faults of ``here``."""
    faults = Armed()
    faults.install(here)
    return faults


@pytest.fixture
async def client(here: EmbeddedCluster) -> AsyncIterator[kube.KubeCluster]:
    """One that waits 2 seconds for an answer."""
    connected = kube.connect(str(here.kubeconfig), None, "default", request_timeout=2.0)
    yield connected
    await connected.close()
