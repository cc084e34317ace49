"""A task becomes a Pod, and what the agent does there is what the command does here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .commands import Moorage
from .conftest import Template

pytestmark = pytest.mark.node


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_code_of_the_agent_is_ours(moorage: Moorage, template: Template, code: int) -> None:
    done = moorage(
        *moorage.run_args(
            "--workspace", "empty_dir", template=template(), command=["sh", "-c", f"exit {code}"]
        ),
        code=code,
    )
    assert done.out == b""


def test_a_discarded_workspace_is_filled_from_the_source_again(
    moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "plan.txt").write_text("build the thing")
    flags = ["--workspace", "empty_dir", "--source", str(source), "--name", "again"]
    done = moorage(*moorage.run_args(*flags, template=template(), command=["cat", "plan.txt"]))
    assert done.out == b"build the thing"
    moorage("pause", "--discard-workspace", "again")
    moorage("resume", "again")
    assert moorage("logs", "again").out == b"build the thing" * 2


def test_nothing_is_left_after_rm(
    moorage: Moorage, template: Template, kubectl: Callable[..., str], namespace: str
) -> None:
    moorage(*moorage.run_args("--name", "gone", template=template(), command=["echo", "hi"]))
    moorage("rm", "-y", "gone")
    assert kubectl("-n", namespace, "get", "pods,pvc", "-o", "name") == ""
    assert moorage("ls", "-o", "json").json()["items"] == []
