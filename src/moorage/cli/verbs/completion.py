"""``moorage completion``: print the completion script of a shell."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.completion import INSTALL, script
from moorage.cli.verbs import VERBS


@verb(
    "completion",
    help=VERBS["completion"].summary
    + """

    SHELL is bash, zsh or fish. Completed are verbs, flags, values of choices, files, names of sessions and
    contexts; no cluster is asked. To keep it, put the line for bash into ~/.bashrc, that for zsh into
    ~/.zshrc; fish reads the file by itself.""",
    examples=tuple(INSTALL.values()),
)
@click.argument("shell", metavar="SHELL")
async def command(call: Call, shell: str) -> int:
    text = script(shell)
    if call.terminal.stdout_tty:  # typed to see what comes: the script alone helps nobody
        call.terminal.note(f"to use it: {INSTALL[shell]}")
    call.terminal.data(text)
    return 0
