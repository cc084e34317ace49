"""Where the demonstration runs: the embedded cluster, or the real test cluster. Used by ``tools.demo`` only.

Each is a context that ends what it started, and can say what sessions left behind.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Protocol

from moorage import kube
from moorage.core.kinds import CLAIMS, PODS, VOLUMES
from moorage.embedded.node.starting import remove_tree
from moorage.own_cluster import CONTEXT, NAMESPACE, OwnCluster
from tools.live_cluster import LiveCluster

TEMPLATE = """\
apiVersion: v1
kind: PodTemplate
metadata: {name: demo}
template:
  spec:
    terminationGracePeriodSeconds: 5
    containers:
    - name: agent
      image: localhost/busybox:test
      imagePullPolicy: Never
"""


class Place(Protocol):
    """``data``: the data folder of every command; ``flags``: of ``run``, to name this place."""

    data: Path
    flags: list[str]

    def objects(self) -> list[str]:
        """What sessions could have left in the cluster."""


class Embedded:
    """The embedded cluster in a data folder of its own. ``keep``: leave both when this ends."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="moorage-demo-"))
        self.data, self.flags, self.keep = self._folder / "data", list[str](), False

    def __enter__(self) -> Embedded:
        return self

    def objects(self) -> list[str]:
        return asyncio.run(self._objects())

    async def _objects(self) -> list[str]:
        client = kube.connect(str(OwnCluster(self.data).kubeconfig), CONTEXT, NAMESPACE)
        try:
            return [
                f"{resource.kind.lower()}/{item['metadata']['name']}"
                for resource in (PODS, CLAIMS, VOLUMES)
                async for item in client.list_all(resource)
            ]
        finally:
            await client.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.keep:
            return
        down = [sys.executable, "-m", "moorage", "--data-dir", str(self.data), "down", "-y", "-q"]
        subprocess.run(down, check=False, stdout=sys.stderr)
        remove_tree(self._folder)


class Real(LiveCluster):
    """The real test cluster: the one that is up, or one for as long as this runs."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, "demo")
        self._own = tempfile.TemporaryDirectory(prefix="moorage-demo-")
        self.data, self.flags = Path(self._own.name) / "data", list[str]()

    def __enter__(self) -> Real:
        super().__enter__()
        template = Path(self._own.name) / "pod.yaml"
        template.write_text(TEMPLATE)
        place = ["--kubeconfig", self.kubeconfig, "-n", self.namespace]
        self.flags = [*place, "--template", str(template)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._own.cleanup()


def environment(place: Place) -> dict[str, str]:
    """Of every command of the story: settings of whoever looks on do not count."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MOORAGE_")}
    return {**kept, "MOORAGE_DATA_DIR": str(place.data), "MOORAGE_CONFIG_DIR": str(place.data.parent)}
