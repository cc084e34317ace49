"""``moorage attach``: follow a session's agent, type to it, leave it running."""

from __future__ import annotations

import click

from moorage.cli.advice import say_ended, say_left, say_over
from moorage.cli.command import Call, verb
from moorage.cli.follow import Manner
from moorage.cli.naming import suggest
from moorage.cli.progress import ProgressPrinter
from moorage.cli.running import exit_code_of, follow, left
from moorage.cli.verbs import VERBS
from moorage.core.errors import Conflict, MoorageError
from moorage.core.session import Phase, Session


@verb(
    "attach",
    help=VERBS["attach"].summary
    + """

    Output goes on after the last byte delivered; with --from-start it begins at the oldest byte kept. Keys
    are passed on from a terminal; piped input only with -i. ctrl-p ctrl-q leaves an agent that has a
    terminal; else Ctrl-C sends SIGINT and a second one leaves. Ends with the agent's exit code when it ends
    meanwhile or has ended already, with 0 when left.""",
    examples=("moorage attach NAME", "moorage attach NAME --read-only --from-start"),
)
@click.option("--read-only", is_flag=True, help="Only watch: no input, no resize, no signals.")
@click.option("--from-start", is_flag=True, help="Begin at the oldest output kept.")
@click.option("-i", "--interactive", is_flag=True, help="Pass on stdin although it is no terminal.")
@click.argument("name", metavar="NAME")
async def command(call: Call, name: str, read_only: bool, from_start: bool, interactive: bool) -> int:
    report = ProgressPrinter(call.terminal)
    async with call.sessions() as sessions:
        try:
            view = await sessions.view(name)
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise
        keyboard = call.terminal.stdin_tty
        agent_tty = view.session.agent.tty
        manner = Manner(
            stdin="forward" if not read_only and (keyboard or interactive) else "leave",
            raw=keyboard and agent_tty and not read_only,
            may_signal=not read_only,
            running=view.session.state.phase is Phase.RUNNING,
        )
        if manner.raw:
            call.terminal.note("ctrl-p ctrl-q leaves it running")
        over = _over(view.session)
        if over and view.session.run is None:
            raise Conflict(
                f"session {view.session.name} has no agent to follow: it was stopped before one ran",
                hint=f"start it with: moorage resume {view.session.name}",
            )
        ending = await follow(call, sessions, view.session.name, report, manner, from_start=from_start)
        if over and ending.how == "exited":
            say_over(call, view)
        elif ending.how == "exited" or not ending.kept:
            say_ended(call, view.session.name, kept=ending.kept)
        elif left(ending):
            say_left(call, view.session.name, agent_started=ending.agent_started)
        return exit_code_of(call, name, ending)


def _over(session: Session) -> bool:
    """Nothing runs, and nobody has asked for anything since."""
    kept = session.state.phase in (Phase.PRESERVED, Phase.ARCHIVED)
    return kept and session.seen_intent >= session.intent.number
