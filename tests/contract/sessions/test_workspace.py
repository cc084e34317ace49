"""Where a workspace is and whose files are in it; what is said when some cannot come along or all is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from testcluster.cluster import Cluster

from .commands import Moorage
from .conftest import Template
from .gitserver import git, repository
from .images import helper_image_ref
from .observed import Objects, pod_name, until

pytestmark = pytest.mark.node

LOOK = ["sh", "-c", "pwd; cat inner; umask; mkdir -p made; stat -c %a made; echo >> ../grown"]


def test_a_source_fills_the_workspace_wherever_the_agent_starts_and_stays_a_clean_clone(
    moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", top="t\n")
    (repo / "sub/dir").mkdir(parents=True)
    (repo / "sub/dir/inner").write_text("inside\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "deep")
    args = ("--name", "deep", "--source", repo, "--cwd", "/workspace/sub/dir")
    seen = b"/workspace/sub/dir\ninside\n0022\n755\n"
    assert moorage(*moorage.run_args(*args, template=template(), command=LOOK)).out == seen
    moorage("pause", "deep")
    moorage("resume", "deep")
    moorage("attach", "deep")
    assert moorage("logs", "deep").out == seen * 2
    exec_ = moorage("exec", "deep", "--", "sh", "-c", "umask; ls -a; cat top")
    assert exec_.out.split() == b"0022 . .. .git .moorage-workspace sub top t".split()

    moorage("cp", "deep:/workspace", tmp_path / "out")
    (tmp_path / "out/.moorage-workspace").write_text("as in the Pod")
    assert git(tmp_path / "out", "status", "--porcelain").split() == ["??", "sub/grown"]


def test_a_directory_outside_the_workspace_and_one_that_is_not_there(
    moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", top="t\n")
    flags = ("--workspace", "empty_dir", "--source", repo)
    outside = moorage.run_args(
        *flags, "--cwd", "/tmp", template=template(), command=["sh", "-c", "pwd; cat /workspace/top"]
    )
    assert moorage(*outside).out == b"/tmp\nt\n"
    gone = moorage.run_args(*flags, "--cwd", "/workspace/nope", template=template(), command=["pwd"])
    done = moorage(*gone, code=127)
    assert "working directory /workspace/nope does not exist" in done.err
    assert "--cwd" in done.err


def test_a_helper_from_an_image_leaves_the_umask_alone_too(
    local_cluster: Cluster, moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    flags = ("--workspace", "empty_dir", "--helper-image", helper_image_ref(local_cluster, tmp_path))
    assert (
        moorage(*moorage.run_args(*flags, template=template(), command=["sh", "-c", "umask"])).out
        == b"0022\n"
    )


def test_what_a_copy_cannot_hold_is_counted_and_named(
    moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    make = ["sh", "-c", "mkfifo p1 p2; echo kept > kept"]
    moorage(
        *moorage.run_args("--name", "pipes", "--workspace", "empty_dir", template=template(), command=make)
    )
    done = moorage("cp", "pipes:/workspace", tmp_path / "out", code=1)
    assert "left out 2 entries that are neither file, directory nor link: p1, p2\n" in done.err
    assert "copied 1 file," in done.err
    assert (tmp_path / "out/kept").read_text() == "kept\n"


def test_an_emptydir_whose_pod_somebody_deleted_is_lost_and_says_so(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    work = ["sh", "-c", "echo work > f"]
    moorage(
        *moorage.run_args("--name", "gone", "--workspace", "empty_dir", template=template(), command=work)
    )
    pod = pod_name(moorage, "gone")
    assert moorage.session("gone")["status"] == "Stopped"
    objects.kubectl("delete", "pod", pod, "--wait=false")
    until("the Pod is gone", lambda: f"pod/{pod}" not in objects.names())
    shown = moorage.session("gone")
    assert (shown["status"], shown["diagnosis"]["category"]) == ("Failed", "workspace_lost")
    assert b"Failed" in moorage("ls").out
    assert "emptyDir" in moorage("resume", "gone", code=None).err
    assert objects.names() == []
    moorage("rm", "-y", "gone")
