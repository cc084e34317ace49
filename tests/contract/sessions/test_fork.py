"""A fork holds, byte for byte, what the workspace it was made from holds, and nobody disturbs the other."""

from __future__ import annotations

import pytest

from .commands import Moorage
from .conftest import Template
from .observed import Objects, pod_name

pytestmark = pytest.mark.node

# What a copy could get wrong: modes, links out of the workspace, names, an empty directory, bytes.
WORK = r"""
mkdir -p deep/er empty && chmod 750 deep && head -c 300000 /dev/urandom > deep/er/bytes
printf x > "a name with blanks" && chmod 741 "a name with blanks"
ln -s deep/er/bytes link && ln -s /etc/passwd out && ln -s nowhere broken
echo "$TOKEN" > token && echo done
"""
TREE = r"""
cd /workspace
find . ! -name . ! -name '.moorage-*' -exec stat -c '%n %f' {} \; | sort
find . -type f ! -name '.moorage-*' -exec sha256sum {} \; | sort
find . -type l -exec readlink {} \; | sort
"""


def begin(moorage: Moorage, template: Template, *flags: str, script: str = WORK) -> None:
    moorage(
        *moorage.run_args(
            "-d",
            *("--name", "first", "-e", "TOKEN=planted", "--storage-class", "immediate"),
            *("--workspace-size", "16Mi", *flags),
            template=template(),
            command=["sh", "-c", f"[ -e link ] && exec testagent wait; {script}"],
        )
    )
    moorage("wait", "first", "--for", "Stopped")


def tree(moorage: Moorage, name: str) -> bytes:
    """Names, modes, sizes, contents and targets of all that is in a workspace, by the image's own tools."""
    return moorage("exec", name, "--", "sh", "-c", TREE).out


def test_forks_are_equal_and_all_sessions_live_on_their_own(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    begin(moorage, template)
    before, pod = tree(moorage, "first"), objects.pod(pod_name(moorage, "first"))
    assert moorage("fork", "first", "--n", "2").out == b"first-fork-1\nfirst-fork-2\n"
    for name in ("first-fork-1", "first-fork-2"):
        assert moorage.session(name)["status"] == "Running"
        assert tree(moorage, name) == before
    assert objects.pod(pod_name(moorage, "first"))["metadata"]["uid"] == pod["metadata"]["uid"]
    assert moorage.session("first")["status"] == "Stopped"

    moorage("exec", "first-fork-1", "--", "sh", "-c", "echo mine > mine")
    assert tree(moorage, "first") == tree(moorage, "first-fork-2") == before
    moorage("rm", "-y", "first")
    moorage("reset", "first-fork-1")
    assert moorage("exec", "first-fork-1", "--", "cat", "mine").out == b"mine\n"
    moorage("rm", "-y", "first-fork-1", "first-fork-2")
    assert objects.names() == []


def test_a_class_that_does_not_clone_is_found_out_by_the_preflight(
    moorage: Moorage, template: Template
) -> None:
    begin(moorage, template)
    found = moorage("fork", "first", "--method", "clone", "--dry-run", "-o", "json", code=5).json()
    assert [check["key"] for check in found["checks"] if check["status"] == "failed"] == ["driver"]
    assert moorage("fork", "first", "--dry-run", "-o", "json").json()["method"] == "copy"
    moorage("pause", "first")
    refused = moorage("fork", "first", code=5).err
    assert "moorage resume first && moorage stop first" in refused
    assert len(moorage("ls", "-a", "-o", "json").json()["items"]) == 1
