"""What an agent did in a repository comes home whole: shown, as a patch, a branch. Its image has no git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .commands import Moorage
from .conftest import Template
from .gitserver import git, repository

pytestmark = pytest.mark.node

WORK = r"""
echo more >> kept && rm gone && mkdir -p deep && head -c 200000 /dev/urandom > deep/bytes
printf '#!/bin/sh\n' > run && chmod 755 run && ln -s /etc/passwd out
echo ignored > noise.log && mkfifo pipe
mkdir -p .git/hooks && printf '#!/bin/sh\ntouch /tmp/hooked\n' > .git/hooks/post-index-change
"""


def test_changes_come_home_as_they_are_from_a_running_and_a_stopped_session(
    moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    home = repository(tmp_path / "project", kept="kept\n", gone="gone\n", **{".gitignore": "*.log\n"})
    base = git(home, "rev-parse", "HEAD")
    moorage(
        *moorage.run_args(
            *("-d", "--name", "work", "--workspace", "empty_dir", "--source", home),
            template=template(),
            command=["sh", "-c", f"{WORK} touch /tmp/done; exec testagent wait"],
        )
    )
    moorage("exec", "work", "--", "sh", "-c", "until [ -e /tmp/done ]; do sleep 0.1; done")
    found = moorage("changes", "work", "-o", "json").json()
    assert (found["commit"], found["repository"]) == (base, str(home))
    assert {file["path"]: file["status"] for file in found["files"]} == {
        "deep/bytes": "A",
        "gone": "D",
        "kept": "M",
        "out": "A",
        "run": "A",
    }
    moorage("stop", "work")
    patch = tmp_path / "work.patch"
    patch.write_bytes(moorage("export", "work", "--patch").out)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(home), str(clone))
    git(clone, "apply", str(patch))
    bytes_there = moorage("exec", "work", "--", "cat", "deep/bytes").out
    assert (clone / "deep/bytes").read_bytes() == bytes_there
    assert ((clone / "kept").read_text(), os.readlink(clone / "out")) == ("kept\nmore\n", "/etc/passwd")
    assert (clone / "run").stat().st_mode & 0o111
    assert not (clone / "gone").exists()
    assert not (clone / "noise.log").exists()

    commit = moorage("export", "work", "--branch", "agents/work").out.decode().strip()
    git(clone, "add", "-A")
    assert git(home, "rev-parse", f"{commit}^{{tree}}") == git(clone, "write-tree")
    assert git(home, "rev-parse", f"{commit}^") == base
    assert git(home, "status", "--porcelain") == ""
    assert "agents/work" in moorage("export", "work", "--branch", "agents/work", code=5).err
