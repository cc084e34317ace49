"""agentctl in this checkout: built again when its source, its version or the Go that builds it changed.

Called by the package's main program for commands that start sessions. ``hatch_build.py`` does the building.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from tools.setup.fetch import Places, run, say

BUILDER = "hatch_build.py"
# The version of the project goes into the binary.
INPUTS = (BUILDER, "pyproject.toml")


def is_current(places: Places, go: str) -> bool:
    stamp = stamp_of(places)
    return stamp.exists() and stamp.read_text() == fingerprint(places, go)


def stamp_of(places: Places) -> Path:
    return places.root / "src" / "moorage" / "_helper" / ".moorage-inputs"


def fingerprint(places: Places, go: str) -> str:
    sources = [
        path for path in (places.root / "agentctl").rglob("*") if path.suffix in (".go", ".mod", ".sum")
    ]
    digest = hashlib.sha256(go.encode())
    for path in [*sorted(sources), *(places.root / name for name in INPUTS)]:
        digest.update(b"\0" + str(path.relative_to(places.root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def build(places: Places, environment: Mapping[str, str]) -> None:
    """Raises ``SetupFailed`` with the compiler's words. The stamp comes last: after a crash, build again."""
    say("building agentctl (once for each change of it)")
    run(
        [places.python, places.root / BUILDER],
        "cannot build agentctl",
        "mend what the compiler says above; ./dev helper builds it alone",
        doing="building agentctl",
        cwd=places.root,
        environment=environment,
    )
    stamp_of(places).write_text(fingerprint(places, environment["MOORAGE_GO"]))
