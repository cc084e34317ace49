"""``moorage help``: what ``--help`` says, asked for as a verb."""

from __future__ import annotations

import click

from moorage.cli.command import Call, VerbGroup, unknown_verb, verb
from moorage.cli.verbs import VERBS
from moorage.core.errors import UsageError


@verb(
    "help",
    help=VERBS["help"].summary
    + """

    The same as `moorage VERB --help`; without VERB all verbs and global flags.""",
    examples=("moorage help", "moorage help run", "moorage help template check"),
)
@click.argument("verbs", nargs=-1, metavar="[VERB…]")
async def command(call: Call, verbs: tuple[str, ...]) -> int:
    ctx = click.get_current_context().find_root()
    shown: click.Command = ctx.command
    for word in verbs:
        if not isinstance(shown, VerbGroup):
            raise UsageError(
                f"{ctx.command_path} has no verbs of its own", hint=f"`{ctx.command_path} --help` explains it"
            )
        found = shown.get_command(ctx, word)
        if found is None:
            raise unknown_verb(ctx, word, shown.list_commands(ctx))
        ctx, shown = click.Context(found, info_name=word, parent=ctx), found
    call.terminal.data(shown.get_help(ctx) + "\n")
    return 0
