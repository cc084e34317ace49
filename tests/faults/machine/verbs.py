"""What a person does: each verb of ``ports.sessions`` as one command, from its start to its end.

A verb returns normally or raises what the product raises; nothing here judges it.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from moorage.cli.waiting import wait_for
from moorage.core.errors import NotFound
from moorage.core.session import HelperSpec, Phase, WorkspaceMode, WorkspaceSpec
from moorage.ports.link import Output, ProcessSpec
from moorage.ports.sessions import Exited, LaunchRequest, Progress, Removal
from moorage.sessions.verbs import Verbs
from tests.faults.machine.world import GIVEN, NAME

TEMPLATE = b"""\
apiVersion: v1
kind: PodTemplate
metadata: {name: machine}
template:
  spec:
    containers:
      - {name: agent, image: "localhost/busybox:test"}
"""
HELPER_IMAGE = "localhost/agentctl@sha256:" + "0" * 64
WORKSPACES = {
    "managed": WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Mi", storage_class="standard"),
    "given": WorkspaceSpec(WorkspaceMode.EXISTING_CLAIM, claim_name=GIVEN),
    "empty": WorkspaceSpec(WorkspaceMode.EMPTY_DIR),
}
QUITS = 3


@dataclass(frozen=True)
class Shape:
    """What a run's sessions are like."""

    workspace: str = "managed"
    helper: str = "image"


Act = Callable[[Verbs, Shape], Awaitable[object]]


def _quiet(progress: Progress) -> None:
    pass


def _request(shape: Shape) -> LaunchRequest:
    helper = HelperSpec("image", HELPER_IMAGE) if shape.helper == "image" else HelperSpec()
    return LaunchRequest(
        TEMPLATE, ["agent"], WORKSPACES[shape.workspace], name=NAME, helper=helper, start_timeout=120.0
    )


async def _run(verbs: Verbs, shape: Shape) -> None:
    """To the agent's own end."""
    await verbs.launch(_request(shape), _quiet)
    await _follow(verbs, from_start=False, until=Exited)


async def _run_detached(verbs: Verbs, shape: Shape) -> None:
    await verbs.launch(_request(shape), _quiet)
    await verbs.resume(NAME, _quiet)


async def _follow(verbs: Verbs, *, from_start: bool, until: type[object]) -> None:
    attachment = verbs.attach(NAME, from_start=from_start)
    try:
        async for happening in attachment.happenings():
            if isinstance(happening, until):
                return
    finally:
        await attachment.close()


async def _attach(verbs: Verbs, shape: Shape) -> None:
    await _follow(verbs, from_start=True, until=Output)


async def _exec(verbs: Verbs, shape: Shape) -> None:
    process = await verbs.exec(NAME, ProcessSpec(argv=["sh", "-c", "exit", "5"], env={}, cwd="/"))
    await process.write(b"x" * 100_000)
    await process.close_stdin()
    while await process.read() is not None:
        pass
    await process.wait()


def _tar() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        entry = tarfile.TarInfo("file")
        entry.size = 50_000
        tar.addfile(entry, io.BytesIO(bytes(50_000)))
    return packed.getvalue()


async def _cp_in(verbs: Verbs, shape: Shape) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield _tar()

    await verbs.put_tar(NAME, "/workspace", chunks())


async def _cp_out(verbs: Verbs, shape: Shape) -> None:
    async for _ in verbs.get_tar(NAME, "/workspace"):
        pass


async def _logs(verbs: Verbs, shape: Shape) -> None:
    async for _ in verbs.logs(NAME):
        pass


async def _container_logs(verbs: Verbs, shape: Shape) -> None:
    async for _ in verbs.container_logs(NAME, "agent"):
        pass


async def _ls(verbs: Verbs, shape: Shape) -> None:
    await verbs.list_views(include_archived=True)


async def _get(verbs: Verbs, shape: Shape) -> None:
    await verbs.view(NAME)


async def _events(verbs: Verbs, shape: Shape) -> None:
    await verbs.events(NAME, _quiet)


async def _wait(verbs: Verbs, shape: Shape) -> None:
    """For what it is by its record, which a look must confirm."""
    state = (await verbs.view(NAME)).session.state
    preserved = "paused" if state.pod == "released" else "stopped"
    await wait_for(verbs, NAME, preserved if state.phase is Phase.PRESERVED else "running", 60.0)


async def _port_forward(verbs: Verbs, shape: Shape) -> None:
    try:
        await verbs.dial(NAME, 80)
    except NotFound as error:
        if error.details.get("code") != "unreachable":
            raise


async def _stop(verbs: Verbs, shape: Shape) -> None:
    await verbs.stop(NAME, _quiet)


async def _stop_force(verbs: Verbs, shape: Shape) -> None:
    await verbs.stop(NAME, _quiet, force=True)


async def _pause(verbs: Verbs, shape: Shape) -> None:
    await verbs.pause(NAME, _quiet, discard_workspace=shape.workspace == "empty")


async def _resume(verbs: Verbs, shape: Shape) -> None:
    await verbs.resume(NAME, _quiet)


async def _reset(verbs: Verbs, shape: Shape) -> None:
    await verbs.reset(NAME, _quiet, discard_workspace=shape.workspace == "empty")


async def _archive(verbs: Verbs, shape: Shape) -> None:
    await verbs.archive(NAME, _quiet)


async def _rm(verbs: Verbs, shape: Shape) -> None:
    await verbs.remove(NAME, _quiet)


async def _rm_force(verbs: Verbs, shape: Shape) -> Removal:
    return await verbs.remove(NAME, _quiet, force=True)


async def _rm_dry(verbs: Verbs, shape: Shape) -> None:
    await verbs.remove(NAME, _quiet, dry_run=True)


VERBS: dict[str, Act] = {
    "run": _run,
    "run -d": _run_detached,
    "attach": _attach,
    "exec": _exec,
    "cp in": _cp_in,
    "cp out": _cp_out,
    "logs": _logs,
    "logs -c": _container_logs,
    "ls": _ls,
    "get": _get,
    "events": _events,
    "wait": _wait,
    "port-forward": _port_forward,
    "stop": _stop,
    "stop --force": _stop_force,
    "pause": _pause,
    "resume": _resume,
    "reset": _reset,
    "archive": _archive,
    "rm": _rm,
    "rm --force": _rm_force,
    "rm --dry-run": _rm_dry,
}
LOOKS = (
    "attach",
    "exec",
    "cp in",
    "cp out",
    "logs",
    "logs -c",
    "ls",
    "get",
    "events",
    "wait",
    "port-forward",
)
CHANGES = ("stop", "stop --force", "pause", "resume", "reset", "archive", "rm", "rm --force", "rm --dry-run")
BY_STATE: dict[str, tuple[str, ...]] = {
    "none": ("run", "run -d"),
    "running": (*LOOKS, *CHANGES),
    "stopped": (
        "attach",
        "logs",
        "get",
        "ls",
        "wait",
        "resume",
        "pause",
        "stop",
        "reset",
        "archive",
        "rm",
        "rm --force",
    ),
    "paused": ("logs", "get", "ls", "wait", "resume", "pause", "stop", "archive", "rm", "rm --force"),
    "archived": ("logs", "get", "ls", "archive", "rm", "rm --force"),
    "other": ("get", "resume", "stop", "pause", "archive", "rm", "rm --force", "reset"),
}
"""What is done in which state; other: failed, or cut short on the way."""
ONLY_LOOK = ("get", "ls", "logs", "logs -c", "events", "rm --dry-run")
"""These write nothing, whatever goes wrong."""
TWICE = ("stop", "stop --force", "pause", "resume", "archive")
"""A second call of these finds it done."""
LEADS: dict[str, tuple[str, ...]] = {
    "none": (),
    "running": ("run -d",),
    "stopped": ("run -d", "stop"),
    "paused": ("run -d", "pause"),
    "archived": ("run -d", "archive"),
}
