"""Images are written without a container tool, the same bytes each time, with the label asked for."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from testcluster.images import Image, write_image


def blobs(archive: Path) -> dict[str, Any]:
    """Manifest and config of the one image in an OCI archive."""
    with tarfile.open(archive) as tar:

        def load(name: str) -> Any:
            member = tar.extractfile(name)
            assert member is not None
            return json.load(member)

        entry = load("index.json")["manifests"][0]
        manifest = load("blobs/" + entry["digest"].replace(":", "/"))
        config = load("blobs/" + manifest["config"]["digest"].replace(":", "/"))
    return {"index": entry, "manifest": manifest, "config": config}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF")
    return path


def test_the_same_files_give_the_same_bytes(tmp_path: Path, program: Path) -> None:
    image = Image("localhost/a:test", {"bin/program": program})
    for name in ("one.tar", "two.tar"):
        write_image(tmp_path / name, image)
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


@pytest.mark.parametrize("arch", ["amd64", "arm64"])
def test_the_architecture_is_the_label_asked_for(tmp_path: Path, program: Path, arch: str) -> None:
    write_image(tmp_path / "i.tar", Image("localhost/a:test", {"bin/program": program}, arch=arch))
    found = blobs(tmp_path / "i.tar")
    assert found["config"]["architecture"] == arch
    assert found["index"]["platform"]["architecture"] == arch
    assert found["index"]["annotations"] == {"io.containerd.image.name": "localhost/a:test"}


def test_start_and_user_are_in_the_config(tmp_path: Path, program: Path) -> None:
    image = Image("localhost/a:test", {"p": program}, entrypoint=["/p"], cmd=["wait"], user="1000")
    write_image(tmp_path / "i.tar", image)
    settings = blobs(tmp_path / "i.tar")["config"]["config"]
    assert (settings["Entrypoint"], settings["Cmd"], settings["User"]) == (["/p"], ["wait"], "1000")
