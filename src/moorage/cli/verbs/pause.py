"""``moorage pause``: end agents and delete their Pods; workspaces stay."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.naming import for_each
from moorage.cli.progress import ProgressPrinter
from moorage.cli.shapes import session_object
from moorage.cli.verbs import VERBS


@verb(
    "pause",
    help=VERBS["pause"].summary
    + """

    Everything outside /workspace is lost. A session on empty_dir would lose its workspace too: it is
    refused without --discard-workspace.""",
    examples=("moorage pause NAME", "moorage pause NAME --discard-workspace"),
)
@click.option("--discard-workspace", is_flag=True, help="Pause although the workspace goes with the Pod.")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
async def command(call: Call, names: tuple[str, ...], discard_workspace: bool) -> int:
    report = ProgressPrinter(call.terminal)
    async with call.sessions() as sessions:

        async def act(name: str) -> dict[str, object]:
            return session_object(await sessions.pause(name, report, discard_workspace=discard_workspace))

        return await for_each(call, sessions, names, act)
