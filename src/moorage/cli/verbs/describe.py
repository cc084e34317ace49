"""``moorage describe``: all that is known of one session, and what can be done next."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.description import description
from moorage.cli.naming import suggest
from moorage.cli.output import print_object
from moorage.cli.shapes import event_object, session_object
from moorage.cli.verbs import VERBS
from moorage.core.errors import MoorageError

_EVENTS = 10
"""Events shown; ``moorage events`` shows all."""


@verb(
    "describe",
    help=VERBS["describe"].summary
    + """

    Ends with the commands that make sense next. -o json is the object `ls -o json` lists, with events.""",
    examples=("moorage describe NAME", "moorage describe NAME -o yaml"),
)
@click.argument("name", metavar="NAME")
async def command(call: Call, name: str) -> int:
    async with call.sessions() as sessions:
        try:
            view = await sessions.view(name)
            events = await sessions.events(name)
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise
    events = sorted(events, key=lambda event: event.at)
    value = session_object(view) | {"events": [event_object(event) for event in events]}
    print_object(call, value, lambda: description(view, events[-_EVENTS:]))
    return 0
