"""The helper from an image: for images without a shell, pinned by digest, out of the agent's reach."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from testcluster.cluster import Cluster
from testcluster.images import Image
from testcluster.testrun import RealCluster

from .commands import Moorage
from .conftest import Template
from .images import helper_image_ref, import_pinned
from .verdicts import OWN_FAILURE, failed_start, objects, recorded, told

pytestmark = pytest.mark.node

NO_SHELL = {"image": "localhost/noshell:test"}


def test_an_image_without_a_shell_works_as_its_diagnosis_says(
    cluster: RealCluster,
    local_cluster: Cluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    tmp_path: Path,
) -> None:
    written = template(main=NO_SHELL)
    without = moorage.run_args("--name", "bare", template=written, command=["/agent", "exit", "7"])
    told(moorage(*without, code=OWN_FAILURE), "crash", "use --helper image")
    recorded(moorage, "bare", "crash")
    moorage("rm", "-y", "bare")

    reference = helper_image_ref(local_cluster, tmp_path)
    flags = ("--name", "bare", "--helper", "image", "--helper-image", reference)
    moorage(*moorage.run_args(*flags, template=written, command=["/agent", "exit", "7"]), code=7)
    pod = cluster.get("pods", "-n", namespace)["items"][0]
    assert [c["image"] for c in pod["spec"]["initContainers"]] == [reference]
    assert "@sha256:" in reference
    moorage("rm", "-y", "bare")
    assert objects(cluster.kubectl, namespace) == ""


def test_the_agent_cannot_change_a_helper_that_came_from_an_image(
    local_cluster: Cluster, moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    reference = helper_image_ref(local_cluster, tmp_path)
    tamper = "echo x >> /opt/moorage/agentctl; rm -f /opt/moorage/agentctl; test -x /opt/moorage/agentctl"
    flags = ("--workspace", "empty_dir", "--helper-image", reference)
    done = moorage(*moorage.run_args(*flags, template=template(), command=["sh", "-c", tamper]), code=0)
    assert [line.split(b" ")[1:3] for line in done.out.splitlines()] == [
        [b"can't", b"create"],
        [b"can't", b"remove"],
    ]


def test_a_helper_image_that_is_not_pinned_is_refused_and_leaves_nothing(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str
) -> None:
    flags = ("--name", "loose", "--helper-image", "localhost/moorage-helper:test")
    done = moorage(*moorage.run_args(*flags, template=template(), command=["true"]), code=2)
    assert "  field: helper.image\n" in done.err
    assert "@sha256:DIGEST" in done.err
    moorage("describe", "loose", code=3)
    assert objects(cluster.kubectl, namespace) == ""


def test_a_helper_image_the_node_cannot_get_is_named(
    moorage: Moorage, template: Template, namespace: str
) -> None:
    reference = "localhost/no-helper@sha256:" + "0" * 64
    flags = ("--workspace", "empty_dir", "--helper-image", reference)
    run = moorage.run_args(*flags, template=template(), command=["true"])
    done = failed_start(moorage, "lost", run)
    told(done, "image", "moorage-helper", reference)
    assert "moorage-helper" in recorded(moorage, "lost", "image")["message"]


def test_a_helper_image_without_a_helper_is_told_from_a_bad_agent_image(
    local_cluster: Cluster, moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    (tmp_path / "other").write_text("no helper\n")
    image = Image("localhost/empty-helper:test", {"other": tmp_path / "other"})
    flags = ("--workspace", "empty_dir", "--helper-image", import_pinned(local_cluster, image, tmp_path))
    run = moorage.run_args(*flags, template=template(), command=["true"])
    done = failed_start(moorage, "empty", run)
    told(done, "crash", "moorage-helper", "/agentctl")
    assert "moorage-helper" in recorded(moorage, "empty", "crash")["message"]


def test_a_helper_image_of_another_architecture_is_told(
    local_cluster: Cluster, moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    binary = Path(str(resources.files("moorage") / "_helper/arm64/agentctl"))
    wrong = import_pinned(local_cluster, Image("localhost/wrong-helper:test", {"agentctl": binary}), tmp_path)
    flags = ("--workspace", "empty_dir", "--helper-image", wrong)
    run = moorage.run_args(*flags, template=template(), command=["true"])
    done = failed_start(moorage, "alien", run)
    told(done, "platform", "moorage-helper", "--platform")
    assert "moorage-helper" in recorded(moorage, "alien", "platform")["message"]
