"""The embedded cluster of a data folder, as ``main`` hands it to sessions and to the command line.

Made by ``main``; starts nothing before it is used. What stands for no cluster at all: nothing else falls back
to it.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from moorage.sessions.executors import BuiltIn

FOLDER: Final = "embedded"
"""In the data folder."""
CONTEXT: Final = "embedded"
NAMESPACE: Final = "default"
TEMPLATE: Final = b"""\
apiVersion: v1
kind: PodTemplate
metadata: {name: this-machine}
template:
  spec:
    containers:
    - name: agent
      image: localhost/this-machine:host
      imagePullPolicy: IfNotPresent
"""
"""What ``run`` starts from there when it is given no template: the programs of this machine."""
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


class OwnCluster:
    """Implements ``cli.wiring.OwnCluster``."""

    def __init__(self, data_dir: Path) -> None:
        from moorage.embedded.process.finding import DetachedCluster

        self._process = DetachedCluster(data_dir / FOLDER, hidden=data_dir)

    @property
    def kubeconfig(self) -> Path:
        return self._process.kubeconfig

    @property
    def running(self) -> bool:
        return self._process.pid is not None

    def built_in(self) -> BuiltIn:
        """The executor where nothing names another."""
        from moorage.sessions.executors import BuiltIn, ExecutorConfig

        config = ExecutorConfig(str(self.kubeconfig), CONTEXT, NAMESPACE, embedded=True)
        machine = platform.machine()
        own = f"linux/{_ARCHITECTURES.get(machine, machine)}"
        return BuiltIn(config, TEMPLATE, own, lambda: self.running)

    async def use(self) -> None:
        """See that it runs, and keep it for as long as this command does. Raises StoreError."""
        await self._process.use()

    async def pods(self) -> Sequence[str] | None:
        """See the port. Asks the API; starts nothing."""
        from moorage import kube
        from moorage.core.kinds import NAMESPACES, PODS

        if not self.running:
            return None
        client = kube.connect(str(self.kubeconfig), CONTEXT, NAMESPACE)
        try:
            spaces = [item["metadata"]["name"] async for item in client.list_all(NAMESPACES)]
            found = [item["metadata"] for space in spaces async for item in client.list_all(PODS, space)]
        finally:
            await client.close()
        return [f"{metadata['namespace']}/{metadata['name']}" for metadata in found]

    async def end(self) -> bool:
        """See the port."""
        return await self._process.end()
