"""An API server that does not answer: every verb ends, names it, and loses nothing."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from .commands import Moorage
from .conftest import Template
from .observed import Objects

pytestmark = pytest.mark.node
SOON = ("--request-timeout", "2s")


@pytest.fixture
def closed_door() -> Iterator[str]:
    """An address at which nobody listens, for as long as the test lasts."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"https://127.0.0.1:{holder.getsockname()[1]}"


def test_every_verb_ends_and_names_the_server_and_the_wish_is_carried_out_later(
    moorage: Moorage, template: Template, objects: Objects, closed_door: str, tmp_path: Path
) -> None:
    good, moorage.kubeconfig = moorage.kubeconfig, tmp_path / "kubeconfig"
    shutil.copy(good, moorage.kubeconfig)
    flags = ("--name", "s", "-d")
    moorage(*moorage.run_args(*flags, template=template(), command=["sh", "-c", "echo hello; sleep 10000"]))
    follower = moorage.start("attach", "s", "--from-start")
    follower.until(b"hello\n")
    follower.kill()

    config = yaml.safe_load(good.read_text())
    config["clusters"][0]["cluster"]["server"] = closed_door
    moorage.kubeconfig.write_text(yaml.safe_dump(config))
    for verb, code in (("stop", 1), ("attach", 1), ("exec", 125), ("pause", 1), ("stop", 1)):
        words = ("--", "true") if verb == "exec" else ()
        done = moorage(verb, "s", *SOON, *words, code=code)
        assert f"error: the API server does not answer: {closed_door}" in done.err, done
        assert "running Pod" not in done.err
        if verb != "exec":
            assert f"goes on with: moorage {verb} s" in done.err
    printed = moorage("logs", "s", *SOON, code=1)
    assert (printed.out, closed_door in printed.err) == (b"hello\n", True)
    assert (
        f"warning: events of Pod and claim are missing here: {closed_door}"
        in moorage("events", "s", *SOON).err
    )
    assert moorage.session("s")["status"] == "Unknown"

    shutil.copy(good, moorage.kubeconfig)
    moorage("attach", "s", code=143)  # whoever drives next carries the wish out
    assert moorage.session("s")["status"] == "Stopped"
    config_again = yaml.safe_dump(config)
    moorage.kubeconfig.write_text(config_again)
    assert "s is stopped already by the record" in moorage("stop", "s", *SOON).err
    assert "session s is stopped: its agent has ended (signal 15)" in moorage("attach", "s", code=143).err
    shutil.copy(good, moorage.kubeconfig)
    moorage("pause", "s")
    assert "s is paused already" in moorage("stop", "s").err
    moorage("rm", "-y", "s")
    assert objects.names() == []
