"""``moorage completion``: print the completion script of a shell."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.completion import script
from moorage.cli.verbs import VERBS


@verb(
    "completion",
    help=VERBS["completion"].summary
    + """

    SHELL is bash, zsh or fish. Completed are verbs, flags, values of choices, files, names of sessions and
    contexts; no cluster is asked.""",
    examples=(
        'eval "$(moorage completion bash)"',
        'eval "$(moorage completion zsh)"',
        "moorage completion fish > ~/.config/fish/completions/moorage.fish",
    ),
)
@click.argument("shell", metavar="SHELL")
async def command(call: Call, shell: str) -> int:
    call.terminal.data(script(shell))
    return 0
