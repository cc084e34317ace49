"""The real cluster of a demonstration or a benchmark: the one that is up, or one for as long as it runs.

Used by ``tools.demo`` and ``tools.bench``. ``MOORAGE_TEST_KUBECONFIG`` names any cluster instead.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any


class LiveCluster:
    """A context: a namespace of its own in a real cluster, both removed at the end if they were made here."""

    def __init__(self, root: Path, purpose: str) -> None:
        self.launcher = [sys.executable, str(root / "tests/cluster/launcher.py")]
        self.namespace = f"moorage-{purpose}-{secrets.token_hex(3)}"
        self.kubeconfig = ""
        self.program = ""
        self._was_up = False

    def __enter__(self) -> LiveCluster:
        given = os.environ.get("MOORAGE_TEST_KUBECONFIG", "")
        bin_dir = self._output("build", "--control-plane-only") if given else ""
        if not given:
            self._was_up = self._ask("kubeconfig").returncode == 0
            subprocess.run([*self.launcher, "up"], check=True, stdout=sys.stderr)
            bin_dir = self._output("build")
        self.kubeconfig = given or self._output("kubeconfig")
        self.program = str(Path(bin_dir) / "kubectl")
        self.kubectl("create", "namespace", self.namespace)
        return self

    def _ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.launcher, *words], check=False, text=True, capture_output=True)

    def _output(self, *words: str) -> str:
        done = subprocess.run([*self.launcher, *words], check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout.strip().splitlines()[-1]

    @property
    def folder(self) -> Path | None:
        """The launcher's folder of this cluster; None when the launcher did not make it."""
        beside = Path(self.kubeconfig).resolve().parent
        return beside if (beside / "state.json").exists() else None

    def kubectl_argv(self, *words: str) -> list[str]:
        """One kubectl command as administrator."""
        return [self.program, "--kubeconfig", self.kubeconfig, *words]

    def kubectl(self, *words: str) -> str:
        """Standard output of that command."""
        return subprocess.run(self.kubectl_argv(*words), check=True, text=True, stdout=subprocess.PIPE).stdout

    def objects(self) -> list[str]:
        """What sessions could leave in the namespace: Pods and claims, and volumes bound to them."""
        names = self.kubectl("-n", self.namespace, "get", "pods,pvc", "-o", "name").split()
        volumes: list[dict[str, Any]] = json.loads(self.kubectl("get", "pv", "-o", "json"))["items"]
        mine = [v for v in volumes if (v["spec"].get("claimRef") or {}).get("namespace") == self.namespace]
        return names + [f"persistentvolume/{v['metadata']['name']}" for v in mine]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kubectl("delete", "namespace", self.namespace, "--wait=false")
        if not self._was_up and not os.environ.get("MOORAGE_TEST_KUBECONFIG"):
            subprocess.run([*self.launcher, "down"], check=False, stdout=sys.stderr)
