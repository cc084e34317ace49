"""Steps about the way into a Pod: do streams pass, and is there a helper to bring? Called by
``sessions.doctor``. Needs no Pod and makes none.
"""

from __future__ import annotations

from typing import Final

from moorage.core.errors import ApiError
from moorage.core.kinds import NODES
from moorage.core.workload import expected_node_arch
from moorage.engine.helper import helper_binary
from moorage.ports.sessions import Check
from moorage.sessions.checks.trial import Step, Trial, refused

PLATFORMS: Final = ("linux/amd64", "linux/arm64")


async def streaming(trial: Trial) -> Check:
    """exec and port-forward are WebSockets, which a proxy may stop that lets every other request pass. A
    watch can be one, too, and needs no Pod."""
    try:
        await trial.cluster.try_websocket(trial.config.namespace)
    except ApiError as error:
        if error.problem.kind == "status":
            raise
        return Check(
            "streaming",
            "failed",
            f"REST passes, WebSockets do not: {refused('', error, 'open a WebSocket').detail}",
            "let the proxy or load balancer before the API server pass on the headers Connection and "
            "Upgrade, or name the address of the API server itself",
        )
    return Check("streaming", "ok", "a WebSocket passes")


async def helper(trial: Trial) -> Check:
    """The helper of each platform asked for is here, and some node can run it."""
    if trial.session is not None and trial.session.inventory.snapshot.helper.source == "image":
        image = trial.session.inventory.snapshot.helper.image
        return Check("helper", "ok", f"brought by the image {image}")
    wanted = (trial.session.inventory.snapshot.platform,) if trial.session else PLATFORMS
    sizes = ", ".join(f"{platform} {len(helper_binary(platform)) / 1e6:.1f} MB" for platform in wanted)
    if trial.session is not None and await _no_node(trial, wanted[0]):
        fix = "give the platform of the nodes with --platform, or add such a node"
        return Check("helper", "warning", f"{sizes}; no node is {wanted[0]} now", fix)
    return Check("helper", "ok", sizes)


async def _no_node(trial: Trial, platform: str) -> bool:
    """Proved: a denied read proves nothing."""
    selector = f"kubernetes.io/os=linux,kubernetes.io/arch={expected_node_arch(platform)}"
    try:
        async for _ in trial.cluster.list_all(NODES, label_selector=selector, page=1):
            return False
    except ApiError:
        return False
    return True


STEPS: Final = (
    Step("streaming", "open a WebSocket", streaming),
    Step("helper", "read the helper", helper),
)
