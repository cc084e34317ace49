"""``moorage resume``: start the agents of stopped or paused sessions again."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.naming import for_each
from moorage.cli.progress import ProgressPrinter
from moorage.cli.shapes import session_object
from moorage.cli.verbs import VERBS


@verb(
    "resume",
    help=VERBS["resume"].summary
    + """

    Returns once the agent runs; `moorage attach NAME` follows it.""",
    examples=("moorage resume NAME", "moorage resume NAME && moorage attach NAME"),
)
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
async def command(call: Call, names: tuple[str, ...]) -> int:
    report = ProgressPrinter(call.terminal)
    async with call.sessions() as sessions:

        async def act(name: str) -> dict[str, object]:
            return session_object(await sessions.resume(name, report))

        return await for_each(call, sessions, names, act)
