"""``moorage wait``: return once sessions are as somebody wants them, or a time limit is over."""

from __future__ import annotations

import asyncio

import click

from moorage.cli.command import Call, verb
from moorage.cli.naming import for_each
from moorage.cli.shapes import deleted_object, session_object
from moorage.cli.values import DURATION
from moorage.cli.verbs import VERBS
from moorage.cli.waiting import CONDITIONS, wait_for
from moorage.core.errors import UsageError


@verb(
    "wait",
    help=VERBS["wait"].summary
    + """

    STATE is a status word (running, stopped, paused …), exited (its agent has ended), archived or deleted.
    Prints each name when it is so. A session that cannot come to it by itself ends the wait with 1, the time
    limit with 6. While it waits it drives a session that no other command drives.""",
    examples=(
        "moorage wait NAME --for exited",
        "moorage wait NAME1 NAME2 --for running --timeout 2m",
        "moorage wait NAME --for deleted --timeout 0",
    ),
)
@click.option("--for", "condition", metavar="STATE", required=True, help="What to wait for. Required.")
@click.option(
    "--timeout",
    metavar="TIME",
    type=DURATION,
    default=600.0,
    help="Limit for all names together; 0 looks once (default: 10m).",
)
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
async def command(call: Call, names: tuple[str, ...], condition: str, timeout: float) -> int:
    wanted = condition.lower()
    if wanted not in CONDITIONS:
        raise UsageError(
            f"{condition!r} is nothing to wait for",
            field="--for",
            hint=f"use one of: {', '.join(CONDITIONS)}",
        )
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout
    async with call.sessions() as sessions:

        async def act(name: str) -> dict[str, object]:
            view = await wait_for(sessions, name, wanted, max(0.0, end - loop.time()))
            if view is None:
                return deleted_object(name)
            return session_object(view)

        return await for_each(call, sessions, names, act)
