"""The agentctl binaries that ship inside the package. Called by ``engine.connection`` and ``version``."""

from __future__ import annotations

from functools import cache
from importlib import resources

from moorage.core.errors import NotFound
from moorage.core.workload import expected_node_arch


@cache
def helper_binary(platform: str) -> bytes:
    """The static agentctl for ``linux/amd64`` or ``linux/arm64``, read once. NotFound when not built."""
    arch = expected_node_arch(platform)
    path = resources.files("moorage") / "_helper" / arch / "agentctl"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFound(
            f"this installation has no helper for {platform}",
            hint="from a checkout, run ./dev helper; otherwise install the wheel again",
        ) from None
