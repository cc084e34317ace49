"""``moorage events``: what happened to a session, oldest first."""

from __future__ import annotations

from collections.abc import Sequence

import click

from moorage.cli.command import Call, verb
from moorage.cli.listing import WatchedList
from moorage.cli.naming import suggest
from moorage.cli.output import print_list
from moorage.cli.progress import ProgressPrinter
from moorage.cli.shapes import event_object, moment
from moorage.cli.tables import table
from moorage.cli.verbs import VERBS
from moorage.cli.watching import looks
from moorage.core.errors import MoorageError, NotFound
from moorage.ports.sessions import Progress, SessionVerbs
from moorage.ports.store import SessionEvent


@verb(
    "events",
    help=VERBS["events"].summary
    + """

    Our own transitions and, where they can be read, the Kubernetes events of Pod and claim.""",
    examples=("moorage events NAME", "moorage events NAME -w", "moorage events NAME -o json"),
)
@click.option("-w", "--watch", is_flag=True, help="Go on until it is removed; Ctrl-C ends it.")
@click.argument("name", metavar="NAME")
async def command(call: Call, name: str, watch: bool) -> int:
    report = _Once(ProgressPrinter(call.terminal))
    async with call.sessions() as sessions:
        try:
            events = await _read(sessions, name, report)
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise
        if not events and (watch or call.output in ("table", "wide")):
            call.terminal.say(f"no events of {name}")
        if watch:
            await _watch(call, sessions, name, report)
    if not watch and (events or call.output not in ("table", "wide")):
        print_list(call, [event_object(event) for event in events], lambda: _table(call, events))
    return 0


class _Once:
    """What is missing is said once, not at each look."""

    def __init__(self, report: ProgressPrinter) -> None:
        self._report = report
        self._told: set[str] = set()

    def __call__(self, progress: Progress) -> None:
        if progress.message not in self._told:
            self._told.add(progress.message)
            self._report(progress)


async def _read(sessions: SessionVerbs, name: str, report: _Once) -> list[SessionEvent]:
    return sorted(await sessions.events(name, report), key=lambda event: event.at)


async def _watch(call: Call, sessions: SessionVerbs, name: str, report: _Once) -> None:
    """Until the session is removed. An event that Kubernetes counts up is a new line."""
    shown = WatchedList(call, in_place=False)
    seen: dict[str, SessionEvent] = {}
    try:
        async for events in looks(lambda: _read(sessions, name, report)):
            seen.update((repr(event), event) for event in events)  # never fewer: Kubernetes forgets its own
            shown.show(
                {key: event_object(event) for key, event in seen.items()},
                lambda keys: _table(call, [seen[key] for key in keys]),
            )
    except NotFound:
        call.terminal.note(f"session {name} was removed")


def _table(call: Call, events: Sequence[SessionEvent]) -> str:
    rows = [[moment(event.at) or "", event.object, event.kind, event.message] for event in events]
    return table(call.terminal, ["TIME", "OBJECT", "EVENT", "MESSAGE"], rows, flexible=("MESSAGE",))
