"""What of the host's root is laid under a container: a tree in, a list of layers out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moorage.embedded.node.shim.hostroot import Layer, layers


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A small host."""
    for folder in (
        "usr/bin",
        "etc/ssl",
        "var/lib/app",
        "var/lib/moorage/pods",
        "home/me",
        "root",
        "mnt/disk",
        "tmp",
    ):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "var/lib/file").touch()
    os.symlink("usr/bin", tmp_path / "bin")
    return str(tmp_path)


def found(root: str, hidden: list[str] | None = None, mounts: list[str] | None = None) -> dict[str, str]:
    inside = [os.path.join(root, name) for name in hidden or []]
    there = layers(inside, [os.path.join(root, name) for name in mounts or []], root)
    return {os.path.relpath(layer.path, root): layer.kind for layer in there}


def test_programs_and_configuration_are_shown_and_nothing_of_people(root: str) -> None:
    assert found(root) == {"bin": "link", "usr": "overlay", "etc": "overlay", "var": "overlay"}
    assert Layer("link", f"{root}/bin", "usr/bin") in layers([], [], root)


def test_a_hidden_folder_is_left_out_and_all_around_it_stays(root: str) -> None:
    assert found(root, ["var/lib/moorage"]) == {
        "bin": "link",
        "usr": "overlay",
        "etc": "overlay",
        "var": "folder",
        "var/lib": "folder",
        "var/lib/app": "overlay",
        "var/lib/file": "file",
    }


def test_a_file_system_below_another_gets_a_layer_of_its_own(root: str) -> None:
    there = found(root, mounts=["usr/bin", "mnt/disk"])
    assert there["usr"] == "folder"
    assert there["usr/bin"] == "overlay"
    assert "mnt" not in there
