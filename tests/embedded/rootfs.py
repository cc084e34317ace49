"""The images of the test cluster as folders, for the embedded node."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from testcluster.build import bin_dir
from testcluster.images import FOLDERS, NONROOT, PASSWD

from moorage.embedded.node import Image

_PATH = {"PATH": "/bin"}


def images(folder: Path) -> dict[str, Image]:
    """Images of tests, made in ``folder`` from programs of this machine; what it lacks is left out."""
    found: dict[str, Image] = {}
    agent = bin_dir() / "agent"
    busybox = shutil.which("busybox")
    if busybox:
        root = _root(folder / "busybox")
        shutil.copy(busybox, root / "bin/busybox")
        for applet in subprocess.run(
            [busybox, "--list"], text=True, capture_output=True, check=True
        ).stdout.split():
            if applet != "busybox":
                (root / "bin" / applet).symlink_to("busybox")
        if agent.exists():
            shutil.copy(agent, root / "bin/testagent")
        found["localhost/busybox:test"] = Image(root, command=("/bin/sh",), env=_PATH)
    if agent.exists():
        root = _root(folder / "noshell")
        shutil.copy(agent, root / "agent")
        found["localhost/noshell:test"] = Image(root, entrypoint=("/agent",), env={"PATH": "/"})
    return found


def _root(root: Path) -> Path:
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc/passwd").write_bytes(PASSWD)
    (root / "etc/group").write_text(f"root:x:0:\nuser:x:{NONROOT}:\n")
    if os.geteuid() == 0:
        os.chown(root / "home/user", NONROOT, NONROOT)
    return root
