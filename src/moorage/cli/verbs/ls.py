"""``moorage ls``: the sessions there are, as observed now."""

from __future__ import annotations

import time

import click

from moorage.cli.command import Call, verb
from moorage.cli.output import print_list
from moorage.cli.shapes import session_object
from moorage.cli.tables import table
from moorage.cli.text import age, shell_line
from moorage.cli.verbs import VERBS
from moorage.core.errors import UsageError
from moorage.ports.sessions import SessionView

_WORDS = ("Starting", "Running", "Paused", "Unhealthy", "Stopping", "Stopped", "Failed", "Unknown")
_SORTS = ("name", "age", "status")


@verb(
    "ls",
    help=VERBS["ls"].summary
    + """

    Shows what was observed just now; a session that could not be observed says Unknown and since when.""",
    examples=("moorage ls", "moorage ls --state Running -o name", "moorage ls -o json"),
)
@click.option("-a", "--all", "everything", is_flag=True, help="Archived sessions too.")
@click.option("--state", metavar="WORD", multiple=True, help="Only sessions with this status word.")
@click.option("--sort-by", metavar="KEY", default="age", help="name, age (default) or status.")
async def command(call: Call, everything: bool, state: tuple[str, ...], sort_by: str) -> int:
    wanted = {_status_word(word) for word in state}
    if sort_by not in _SORTS:
        raise UsageError(
            f"{sort_by!r} is no value for --sort-by",
            hint=f"use one of: {', '.join(_SORTS)}",
            field="--sort-by",
        )
    async with call.sessions() as sessions:
        views = await sessions.list_views(include_archived=everything)
        where = sessions.where
    views = sorted((v for v in views if not wanted or v.word in wanted), key=lambda v: _key(v, sort_by))
    objects = [dict(session_object(view)) for view in views]
    if call.options.quiet:
        call.terminal.data("".join(f"{view.session.name}\n" for view in views))
        return 0
    if not views and call.output in ("table", "wide"):
        call.terminal.say(f"no sessions ({where})")
        return 0
    print_list(call, objects, lambda: _table(call, views))
    return 0


def _status_word(word: str) -> str:
    for known in _WORDS:
        if known.lower() == word.lower():
            return known
    raise UsageError(f"{word!r} is no status word", hint=f"use one of: {', '.join(_WORDS)}", field="--state")


def _key(view: SessionView, sort_by: str) -> tuple[object, ...]:
    name = view.session.name
    if sort_by == "name":
        return (name,)
    if sort_by == "status":
        return (_WORDS.index(view.word) if view.word in _WORDS else len(_WORDS), name)
    return (-view.session.created_at, name)


def _table(call: Call, views: list[SessionView]) -> str:
    wide = call.output == "wide"
    header = ["NAME", "STATUS", "AGE", "AGENT", "NODE", "REASON"]
    if wide:
        header += ["RESTARTS", "POD", "WORKSPACE", "IMAGE"]
    now = time.time()
    rows = [_row(view, now, wide) for view in views]
    return table(call.terminal, header, rows, flexible=() if wide else ("AGENT", "NODE", "REASON"))


def _row(view: SessionView, now: float, wide: bool) -> list[str]:
    session = view.session
    row = [
        session.name,
        view.word,
        age(now - session.created_at),
        shell_line(session.agent.argv),
        view.node,
        view.unknown or view.reason,
    ]
    if wide:
        mode = session.inventory.snapshot.workspace.mode.value
        restarts = str(view.restarts) if view.observed_at else "?"
        row += [restarts, session.inventory.pod_name, mode, view.image]
    return row
