"""uv, which makes the environment: exactly the pinned version, so that everyone's lock is read alike.

Called by the package's main program and by ``go``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tools.setup.fetch import Places, SetupFailed, fetched, pinned, run


def uv_program(places: Places) -> Path:
    """uv of exactly the pinned version: from PATH if it is that one, else from the cache."""
    pin = pinned(places.requirements, "uv")
    found = shutil.which("uv")
    if found and uv_version(found) == pin.version:
        return Path(found)
    return fetched(places, pin, "uv", install_uv) / "bin" / "uv"


def uv_version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    return words[1] if done.returncode == 0 and len(words) > 1 else ""


def install_uv(folder: Path, requirement: Path) -> None:
    """With venv where this Python has it (Debian packs it apart), else with its own pip."""
    options: list[str | Path] = ["install", "--quiet", "--no-deps", "--require-hashes", "-r", requirement]
    doing = "getting uv"
    network = "check the network and the package index that pip is set up for"
    if has_module("ensurepip"):
        run(
            [sys.executable, "-m", "venv", folder],
            "cannot make an environment for uv",
            "see above",
            doing=doing,
        )
        run([folder / "bin" / "python", "-m", "pip", *options], "cannot get uv", network, doing=doing)
    elif has_module("pip"):
        run(
            [sys.executable, "-m", "pip", *options, "--target", folder], "cannot get uv", network, doing=doing
        )
    else:
        raise SetupFailed(
            f"{sys.executable} has neither venv nor pip, so nothing can be installed",
            "install one: apt-get install python3-venv, or dnf install python3-pip, or apk add py3-pip",
        )


def has_module(name: str) -> bool:
    done = subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, check=False)
    return done.returncode == 0
