"""The environment ``.venv``: brought to uv.lock when one of its inputs changed, else left alone.

Called by the package's main program.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping

from tools.setup.fetch import Places, run, say
from tools.setup.uv import uv_program

# A change in one of these may change what the environment holds.
INPUTS = ("uv.lock", "pyproject.toml", "hatch_build.py")


def is_current(places: Places) -> bool:
    stamp = places.stamp
    return places.python.exists() and stamp.exists() and stamp.read_text() == fingerprint(places)


def fingerprint(places: Places) -> str:
    """Of the inputs and of the folder, since an environment does not survive being moved."""
    digest = hashlib.sha256(str(places.root).encode())
    for name in INPUTS:
        path = places.root / name
        digest.update(b"\0" + name.encode() + b"\0" + (path.read_bytes() if path.exists() else b""))
    return digest.hexdigest()


def synchronise(places: Places, environment: Mapping[str, str]) -> None:
    """Make ``.venv`` hold what uv.lock says. The stamp comes last, so a crash means: do it again."""
    say("bringing .venv to uv.lock (once for each change of it)")
    # An interpreter already there stays: naming another would make uv start from nothing.
    interpreter = places.python if places.python.exists() else sys.executable
    run(
        [uv_program(places), "sync", "--locked", "--quiet", "--python", interpreter],
        "cannot make the environment .venv",
        "check the network; if uv.lock is out of date, run uv lock; if .venv is broken, remove it",
        doing="bringing .venv to uv.lock",
        cwd=places.root,
        environment={**environment, "UV_PYTHON_DOWNLOADS": "never", "UV_PROJECT_ENVIRONMENT": ".venv"},
    )
    places.stamp.write_text(fingerprint(places))
