"""``moorage ls``: the sessions there are, as observed now."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import click

from moorage.cli.choosing import by_labels
from moorage.cli.command import Call, verb
from moorage.cli.listing import WatchedList
from moorage.cli.naming import none_found
from moorage.cli.output import print_list
from moorage.cli.reasons import why
from moorage.cli.shapes import session_object
from moorage.cli.tables import cut, table
from moorage.cli.text import age, shell_line
from moorage.cli.verbs import VERBS
from moorage.cli.watching import looks
from moorage.core.errors import UsageError
from moorage.core.session import Phase
from moorage.ports.sessions import SessionView

WORDS = ("Starting", "Running", "Paused", "Unhealthy", "Stopping", "Stopped", "Failed", "Unknown")
AGENT_CELLS = 40
"""Terminal cells of a command in a table, also in a pipe; -o wide and json show all of it."""

SORTS = ("name", "age", "status")


@verb(
    "ls",
    help=VERBS["ls"].summary
    + """

    Shows what was observed just now; a session that could not be observed says Unknown and why. With -n
    only sessions of that namespace are looked at and shown. -o wide adds columns and cuts nothing. -l goes by
    the labels of a session's Pod: those of its template, and Moorage's own; -o json shows them.

    The status is Starting, Running, Paused, Unhealthy, Stopping, Stopped, Failed or Unknown; REASON says
    why, or how the agent ended.""",
    examples=(
        "moorage ls",
        "moorage ls -n agents --state Running -o name",
        "moorage ls -A -l team=web -o wide",
    ),
)
@click.option("-a", "--all", "everything", is_flag=True, help="Archived sessions too.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Sessions of every namespace, whatever -n says.")
@click.option(
    "--state",
    metavar="WORD",
    multiple=True,
    help="Only this status (default: all); repeatable.",
)
@click.option(
    "-l",
    "--selector",
    metavar="LABELS",
    default="",
    help="Only sessions whose Pod has them, e.g. app=web,!old (default: all).",
)
@click.option("-w", "--watch", is_flag=True, help="Go on, and show each change; Ctrl-C ends it.")
@click.option("--sort-by", metavar="KEY", default="age", help="name, age (default, newest first) or status.")
async def command(
    call: Call,
    everything: bool,
    all_namespaces: bool,
    state: tuple[str, ...],
    selector: str,
    watch: bool,
    sort_by: str,
) -> int:
    wanted = {_status_word(word) for word in state}
    has_labels = by_labels(selector)
    if sort_by not in SORTS:
        raise UsageError(
            f"{sort_by!r} is no value for --sort-by",
            hint=f"use one of: {', '.join(SORTS)}",
            field="--sort-by",
        )
    namespace = "" if all_namespaces else call.default("namespace", call.options.namespace)

    def chosen(view: SessionView) -> bool:
        shown = everything or view.session.state.phase is not Phase.ARCHIVED
        return shown and (not wanted or view.word in wanted) and has_labels(view)

    async with call.sessions() as sessions:

        async def look(archived: bool = True) -> list[SessionView]:
            found = await sessions.list_views(include_archived=archived, namespace=namespace)
            return sorted(found, key=lambda view: _key(view, sort_by))

        if watch:
            await _watch(call, look, chosen, none_found(namespace))
        views = list(filter(chosen, await look(everything)))
    objects = [dict(session_object(view)) for view in views]
    if call.options.quiet:
        call.terminal.data("".join(f"{view.session.name}\n" for view in views))
        return 0
    if not views and call.output in ("table", "wide"):
        call.terminal.say(none_found(namespace))
        return 0
    print_list(call, objects, lambda: _table(call, views))
    return 0


async def _watch(
    call: Call,
    look: Callable[[], Awaitable[list[SessionView]]],
    chosen: Callable[[SessionView], bool],
    none: str,
) -> None:
    """Until Ctrl-C. A session that is no longer chosen is shown once more as it is, or as Deleted."""
    shown = WatchedList(call, in_place=True)
    last: dict[str, SessionView] = {}
    async for views in looks(look):
        seen = {view.session.id: view for view in views}
        rows = {key: replace(view, word="Deleted", reason="") for key, view in last.items()} | seen
        now = {key: session_object(view) for key, view in seen.items() if chosen(view)}
        if not (now or last):
            call.terminal.note(none)
        shown.show(now, lambda keys, rows=rows: _table(call, [rows[key] for key in keys]))  # type: ignore[misc]
        last = seen


def _status_word(word: str) -> str:
    for known in WORDS:
        if known.lower() == word.lower():
            return known
    raise UsageError(f"{word!r} is no status word", hint=f"use one of: {', '.join(WORDS)}", field="--state")


def _key(view: SessionView, sort_by: str) -> tuple[object, ...]:
    name = view.session.name
    if sort_by == "name":
        return (name,)
    if sort_by == "status":
        return (WORDS.index(view.word) if view.word in WORDS else len(WORDS), name)
    return (-view.session.created_at, name)


def _table(call: Call, views: list[SessionView]) -> str:
    wide = call.output == "wide"
    header = ["NAME", "STATUS", "AGE", "AGENT", "NODE", "REASON"]
    if wide:
        header += ["NAMESPACE", "CONTEXT", "RESTARTS", "POD", "WORKSPACE", "IMAGE"]
    now = time.time()
    rows = [_row(view, now, wide) for view in views]
    return table(call.terminal, header, rows, flexible=() if wide else ("AGENT", "NODE", "REASON"))


def _row(view: SessionView, now: float, wide: bool) -> list[str]:
    session, agent = view.session, shell_line(view.session.agent.argv)
    row = [
        session.name,
        view.word,
        age(now - session.created_at),
        agent if wide else cut(agent, AGENT_CELLS),
        view.node,
        why(view),
    ]
    if wide:
        mode = session.inventory.snapshot.workspace.mode.value
        restarts = str(view.restarts) if view.observed_at else "?"
        owned = session.inventory
        row += [owned.namespace, view.context, restarts, owned.pod_name, mode, view.image]
    return row
