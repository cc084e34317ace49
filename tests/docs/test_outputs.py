"""What a page shows below a command is what the command prints, on a machine without any cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Shown, shown

SHOWN = list(shown())
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: kind-dev
contexts: [{name: kind-dev, context: {cluster: c}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
"""
MASKS = (
    (r"\d+\.\d+ MB", "N MB"),
    (r"\b\d+\.\d+\.\d+\b", "VERSION"),
    (r"(?<=   ) *\d+(?=   )", "MS"),
)
"""What differs between machines and versions."""


def masked(text: str) -> str:
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return re.sub(r" +\n", "\n", text)


@pytest.fixture
def person(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has a kubeconfig and has never used Moorage; ~ is also the folder."""
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text(KUBECONFIG)
    return {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.mark.parametrize("case", SHOWN, ids=str)
def test_a_command_prints_what_the_page_shows(case: Shown, person: dict[str, str], tmp_path: Path) -> None:
    for name, text in case.files:
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        ["sh", "-c", case.command],
        cwd=tmp_path,
        env=person,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert masked(done.stdout) == masked(case.output)


def test_pages_show_outputs_at_all() -> None:
    assert {case.page for case in SHOWN} == {"cli.md", "templates.md"}
    assert len(SHOWN) >= 10
