"""``moorage events``: what happened to a session, oldest first."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.naming import suggest
from moorage.cli.output import print_list
from moorage.cli.progress import ProgressPrinter
from moorage.cli.shapes import event_object, moment
from moorage.cli.tables import table
from moorage.cli.verbs import VERBS
from moorage.core.errors import MoorageError


@verb(
    "events",
    help=VERBS["events"].summary
    + """

    Our own transitions and, where they can be read, the Kubernetes events of Pod and claim.""",
    examples=("moorage events NAME", "moorage events NAME -o json"),
)
@click.argument("name", metavar="NAME")
async def command(call: Call, name: str) -> int:
    async with call.sessions() as sessions:
        try:
            events = await sessions.events(name, ProgressPrinter(call.terminal))
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise
    events = sorted(events, key=lambda event: event.at)
    if not events and call.output in ("table", "wide"):
        call.terminal.say(f"no events of {name}")
        return 0
    rows = [[moment(event.at) or "", event.object, event.kind, event.message] for event in events]
    print_list(
        call,
        [event_object(event) for event in events],
        lambda: table(call.terminal, ["TIME", "OBJECT", "EVENT", "MESSAGE"], rows, flexible=("MESSAGE",)),
    )
    return 0
