"""Runs one command line in this process against a script, and compares with golden files."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from moorage.cli.app import run_cli
from tests.cli.scripted import Scripted
from tests.cli.wired import ScriptedWiring

GOLDEN = Path(__file__).parent / "golden"
TEMPLATE = """\
apiVersion: v1
kind: PodTemplate
template:
  spec:
    containers:
    - name: agent
      image: registry.example/agent:1
"""


@dataclass(frozen=True)
class Result:
    """What a command left behind: exit code, bytes of both streams."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    """``cli("ls", "-o", "json")``; the script is in ``cli.verbs``, the wiring in ``cli.wiring``."""

    def __init__(self, capture: pytest.CaptureFixture[bytes], folder: Path) -> None:
        self._capture = capture
        self.verbs = Scripted()
        self.wiring = ScriptedWiring(self.verbs)
        self.folder = folder
        self.template = folder / "pod.yaml"
        self.template.write_text(TEMPLATE)

    def __call__(self, *argv: str) -> Result:
        self._capture.readouterr()
        code = run_cli(list(argv), self.wiring)
        out, err = self._capture.readouterr()
        return Result(code, out, err.decode())

    def run(self, *argv: str) -> Result:
        """``moorage run`` with a template and ``-- CMD`` unless given."""
        words = argv if "--" in argv else (*argv, "--", "make", "test")
        return self("run", "--template", str(self.template), *words)


def compare(name: str, text: str) -> None:
    """``text`` equals the golden file; UPDATE_GOLDEN=1 writes it instead."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN") == "1":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), f"{name} differs; UPDATE_GOLDEN=1 rewrites it"
