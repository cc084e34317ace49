"""``moorage reset``: pause, then resume: a new Pod on the same workspace."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.naming import for_each
from moorage.cli.progress import ProgressPrinter
from moorage.cli.shapes import session_object
from moorage.cli.verbs import VERBS


@verb(
    "reset",
    help=VERBS["reset"].summary
    + """

    The same as pause and resume: everything outside /workspace is made anew.""",
    examples=("moorage reset NAME",),
)
@click.option("--discard-workspace", is_flag=True, help="Reset although the workspace goes with the Pod.")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
async def command(call: Call, names: tuple[str, ...], discard_workspace: bool) -> int:
    report = ProgressPrinter(call.terminal)
    async with call.sessions() as sessions:

        async def act(name: str) -> dict[str, object]:
            return session_object(await sessions.reset(name, report, discard_workspace=discard_workspace))

        return await for_each(call, sessions, names, act)
