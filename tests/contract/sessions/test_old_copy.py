"""Two data folders that know of one cluster: an old copy says that it is one, and a workspace is not shared
by accident."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .commands import Moorage
from .conftest import Template
from .observed import Objects, pod_name

pytestmark = pytest.mark.node

WAIT = ["sh", "-c", "echo here >> file; exec sleep 100000"]


def test_an_old_copy_of_the_data_folder_does_not_say_that_it_stopped_the_newer_agent(
    moorage: Moorage, template: Template, objects: Objects, tmp_path: Path
) -> None:
    moorage(
        *moorage.run_args(
            "-d", "--name", "one", "--workspace", "empty_dir", template=template(), command=WAIT
        )
    )
    shutil.copytree(moorage.data_dir, tmp_path / "old")
    old = {"MOORAGE_DATA_DIR": str(tmp_path / "old")}
    moorage("stop", "one")
    moorage("resume", "one")
    done = moorage("stop", "one", code=None, env=old)
    assert done.code not in (None, 0)
    assert "an old copy" in done.err
    assert objects.pids(pod_name(moorage, "one"), "sleep 100000") != []
    assert moorage.session("one")["status"] == "Running"
    moorage("stop", "one")
    assert objects.pids(pod_name(moorage, "one"), "sleep 100000") == []


def test_the_workspace_of_another_data_folder_is_taken_only_when_nothing_uses_it(
    moorage: Moorage, template: Template, objects: Objects, tmp_path: Path
) -> None:
    moorage(*moorage.run_args("-d", "--name", "one", template=template(), command=WAIT))
    other = {"MOORAGE_DATA_DIR": str(tmp_path / "other")}
    claim = pod_name(moorage, "one") + "-workspace"
    take = moorage.run_args("--name", "two", "--claim", claim, template=template(), command=["cat", "file"])
    refused = moorage(*take, code=125, env=other)
    assert f"claim {claim} is in use by Pod {pod_name(moorage, 'one')}" in refused.err
    moorage("pause", "one")
    done = moorage(*take, env=other)
    assert done.out == b"here\n"
    assert "is not on record here" in done.err
    moorage("rm", "-y", "two", env=other)
    moorage("resume", "one")
    moorage("rm", "-y", "one")
    assert objects.names() == []
