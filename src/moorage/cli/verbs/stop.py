"""``moorage stop``: end agents; Pods and workspaces stay."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.naming import for_each
from moorage.cli.progress import ProgressPrinter
from moorage.cli.shapes import session_object
from moorage.cli.verbs import VERBS


@verb(
    "stop",
    help=VERBS["stop"].summary
    + """

    The agent gets SIGTERM, and SIGKILL after its grace time. The Pod stays and still reserves CPU and
    memory on its node; pause frees them. Stopping a stopped session does nothing.""",
    examples=("moorage stop NAME", "moorage stop NAME1 NAME2"),
)
@click.option("--force", is_flag=True, help="No grace time; do not drain output first or wait for the link.")
@click.option(
    "--wait/--no-wait", default=True, help="Wait until it has ended (default), or leave it to who drives it."
)
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
async def command(call: Call, names: tuple[str, ...], force: bool, wait: bool) -> int:
    report = ProgressPrinter(call.terminal)
    pods: set[str] = set()
    async with call.sessions() as sessions:

        async def act(name: str) -> dict[str, object]:
            view = await sessions.stop(name, report, force=force, wait=wait)
            pods.add(view.session.state.pod)
            return session_object(view)

        code = await for_each(call, sessions, names, act)
    if code == 0 and "kept" in pods:
        call.terminal.note("Pod and workspace are kept and still reserve resources; pause frees the Pod")
    return code
