"""Verbs over many sessions: each name in turn, every failure said, the worst exit code kept.

Used by stop, pause, resume, reset, archive and rm. One session's failure does not keep the others from
being worked on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from moorage.cli import failures
from moorage.cli.command import Call
from moorage.cli.output import print_list
from moorage.cli.text import nearest
from moorage.core.errors import MoorageError, NotFound
from moorage.ports.sessions import SessionVerbs


async def for_each(
    call: Call,
    sessions: SessionVerbs,
    names: Sequence[str],
    act: Callable[[str], Awaitable[dict[str, Any] | None]],
) -> int:
    """Do ``act`` for each name (a repeated name once). Prints each name once it is done, or the objects
    that ``act`` returned with -o json or yaml; None leaves a name out. Returns the first failure's code."""
    code, done = 0, []
    streams = call.output in ("table", "wide", "name")
    for name in dict.fromkeys(names):
        try:
            result = await act(name)
        except MoorageError as error:
            await suggest(sessions, error, name)
            failures.print_error(
                call.terminal, error, as_json=call.output == "json", verbose=call.options.verbosity > 0
            )
            code = code or error.exit_code
            continue
        if result is not None:
            done.append(result)
            if streams:
                call.terminal.data(f"{result['name']}\n")
    if not streams:
        print_list(call, done, lambda: "")
    return code


def none_found(namespace: str) -> str:
    """What is said on stderr where a list is empty."""
    return f"no sessions in namespace {namespace}" if namespace else "no sessions"


async def suggest(sessions: SessionVerbs, error: MoorageError, name: str) -> None:
    """Give a NotFound without a hint the nearest session name there is."""
    if not isinstance(error, NotFound) or error.hint:
        return
    try:
        views = await sessions.list_views(include_archived=True)
    except MoorageError:
        return
    near = nearest(name, [view.session.name for view in views])
    error.hint = f"did you mean {near}?" if near else "`moorage ls` lists the sessions there are"


async def all_known(sessions: SessionVerbs, names: Sequence[str]) -> None:
    """NotFound for the first name that no session has: one slip of the pen, and nothing is removed."""
    for name in dict.fromkeys(names):
        try:
            await sessions.known(name)
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise
