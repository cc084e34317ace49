"""Which mode this machine allows, found out by trying. Called by ``node.local`` at its start."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from moorage.embedded.node.runtime.spec import CGROUP

TRY = "import sys; sys.path.append(sys.argv.pop(1)); from shim.attempt import main; main()"
LIMIT = 20.0


@dataclass(frozen=True)
class Mode:
    """``name``: namespaces or plain; ``why``: what keeps namespaces from working, ``""`` when nothing
    does.
    """

    name: str
    why: str = ""


async def detect(folder: Path) -> Mode:
    """Build a container's tree below ``folder`` (where Pods will be) and run ``true`` in it."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="try-", ignore_cleanup_errors=True) as work:
        cgroup = Path(work, "cgroup")
        cgroup.mkdir()
        for name, text in CGROUP.items():
            (cgroup / name).write_text(text)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", TRY, str(Path(__file__).parents[1]), work,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, env={},
        )  # fmt: skip
        try:
            async with asyncio.timeout(LIMIT):
                said, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            return Mode("plain", "the attempt did not end")
    if process.returncode == 0:
        return Mode("namespaces")
    lines = said.decode(errors="replace").strip().splitlines()
    return Mode("plain", lines[-1] if lines else f"exit code {process.returncode}")
