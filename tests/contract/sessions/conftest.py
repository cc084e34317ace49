"""Sessions on the real node, by the command a person types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.cli.wiring import GlobalOptions
from moorage.main import Composition
from tests.embedded.running import Threaded

from .commands import Moorage
from .hostile import Scene
from .observed import Objects

Template = Callable[..., Path]


@pytest.fixture
def moorage(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Moorage]:
    """The command, with a fresh data folder and namespace."""
    home = tmp_path / "home"
    home.mkdir()
    command = Moorage(kubeconfig, namespace, home)
    yield command
    command.end()


@pytest.fixture
def objects(kubectl: Callable[..., str], namespace: str) -> Objects:
    """The cluster's side of this test."""
    return Objects(kubectl, namespace)


@pytest.fixture
def template(tmp_path: Path) -> Template:
    """`template(main={...}, spec={...}, **metadata)` → path of a PodTemplate on the test image."""

    def write(
        main: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, name: str = "pod.yaml"
    ) -> Path:
        container = {
            "name": "agent",
            "image": "localhost/busybox:test",
            "imagePullPolicy": "Never",
            **(main or {}),
        }
        extra = dict(spec or {})
        containers = [container, *extra.pop("containers", [])]
        document = {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {"name": "test"},
            "template": {"spec": {"terminationGracePeriodSeconds": 2, "containers": containers, **extra}},
        }
        path = tmp_path / name
        path.write_text(yaml.safe_dump(document))
        return path

    return write


@pytest.fixture
def real_node(embedded: Threaded | None) -> None:
    """For what would harm this machine without a real container around it."""
    if embedded is not None:
        pytest.skip("a hostile Pod needs the walls of a real container")


@pytest.fixture
async def scene(real_node: None, moorage: Moorage, objects: Objects) -> AsyncIterator[Scene]:
    """Sessions driven by this process, in the data folder of ``moorage``."""
    wiring = Composition(moorage.env)
    options = GlobalOptions(
        kubeconfig=str(moorage.kubeconfig),
        namespace=moorage.namespace,
        data_dir=str(moorage.data_dir),
        no_input=True,
    )
    verbs = await wiring.sessions(options)
    there = Scene(verbs, objects, moorage.kubeconfig)
    yield there
    await there.close()
    await verbs.close()
