"""``moorage exec``: run a command beside the agent, and end with its exit code."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb, words_after_dashes
from moorage.cli.environment import read_environment
from moorage.cli.launching import absolute_hint
from moorage.cli.naming import suggest
from moorage.cli.rawmode import window_size
from moorage.cli.remote import carry
from moorage.cli.verbs import VERBS
from moorage.core.errors import MoorageError, UsageError
from moorage.ports.link import ProcessSpec


@verb(
    "exec",
    help=VERBS["exec"].summary
    + """

    stdout and stderr of CMD stay apart; stdin is passed on with -i. Ends with the exit code of CMD (128+n
    after signal n, 127 not found, 126 not executable), or 125 when Moorage itself failed. Ctrl-C sends
    SIGINT to CMD; a second one hangs up.""",
    examples=(
        "moorage exec NAME -- git status",
        "moorage exec -it NAME -- bash",
        "moorage exec -i NAME -- tar x < a.tar",
    ),
    takes_command=True,
)
@click.option("-i", "--interactive", is_flag=True, help="Pass our stdin to CMD.")
@click.option("-t", "--tty", is_flag=True, help="Give CMD a terminal.")
@click.option(
    "-w",
    "--cwd",
    metavar="DIR",
    default="/workspace",
    help="Where CMD starts, absolute (default: /workspace).",
)
@click.option("-e", "--env", metavar="NAME[=VALUE]", multiple=True, help="Variable, never shown; repeatable.")
@click.option("--env-file", metavar="FILE", multiple=True, help="Lines of NAME=VALUE or NAME; repeatable.")
@click.argument("name", metavar="NAME")
@click.argument("words", nargs=-1, metavar="")
async def command(
    call: Call,
    name: str,
    words: tuple[str, ...],
    interactive: bool,
    tty: bool,
    cwd: str,
    env: tuple[str, ...],
    env_file: tuple[str, ...],
) -> int:
    argv = words_after_dashes()
    if words or not argv:
        said = f"unexpected word {words[0]!r} before --" if words else "no command to run"
        raise UsageError(said, hint=f"the command stands after --: moorage exec {name} -- CMD")
    if not cwd.startswith("/"):
        raise UsageError("--cwd must be an absolute path", field="--cwd", hint=absolute_hint(cwd))
    if interactive and tty and not call.terminal.stdin_tty:
        raise UsageError(
            "-i -t needs a terminal on stdin, and ours is none", hint="leave out -t to pipe input"
        )
    cols, rows = window_size()
    variables = read_environment(env, env_file, call.wiring.environ)
    spec = ProcessSpec(argv=argv, env=variables, cwd=cwd, tty=tty, cols=cols, rows=rows)
    async with call.sessions() as sessions:
        try:
            process = await sessions.exec(name, spec)
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise
        return await carry(call, process, interactive=interactive, tty=tty)
