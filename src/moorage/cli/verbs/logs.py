"""``moorage logs``: the agent's output as it was stored, or a container's own log from the kubelet."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

import click

from moorage.cli.command import Call, verb
from moorage.cli.containers import print_all_logs
from moorage.cli.follow import gap_notice
from moorage.cli.naming import suggest
from moorage.cli.streams import stdout_writer
from moorage.cli.tail import LastLines
from moorage.cli.values import LINES, SINCE
from moorage.cli.verbs import VERBS
from moorage.core.errors import MoorageError, UsageError
from moorage.ports.link import Gap, Output
from moorage.ports.sessions import SessionVerbs


@verb(
    "logs",
    help=VERBS["logs"].summary
    + """

    Without -c or -p: what the agent wrote, byte for byte, also after its Pod is gone. With -c NAME: the log
    of one container as the kubelet has it, with --all-containers of each. -p: the log of the container
    before its last restart.""",
    examples=("moorage logs NAME -f", "moorage logs NAME --tail 20", "moorage logs NAME --all-containers -f"),
)
@click.option("-f", "--follow", is_flag=True, help="Go on until the agent has ended.")
@click.option("--tail", metavar="N", type=LINES, help="Only the last N lines (default: all kept).")
@click.option("--since-start", is_flag=True, help="Only output of the agent's latest start.")
@click.option(
    "-c",
    "--container",
    metavar="NAME",
    default="",
    help="A container's own log (default: the agent's output).",
)
@click.option("--all-containers", is_flag=True, help="The logs of all containers, each line with its name.")
@click.option("-p", "--previous", is_flag=True, help="The container's log before its last restart.")
@click.option(
    "--since",
    metavar="TIME",
    type=SINCE,
    help="Only of so long ago, e.g. 10m; not of the agent's output (default: all).",
)
@click.option("--timestamps", is_flag=True, help="Prefix lines with times; not of the agent's output.")
@click.argument("name", metavar="NAME")
async def command(
    call: Call,
    name: str,
    follow: bool,
    tail: int | None,
    since_start: bool,
    container: str,
    all_containers: bool,
    previous: bool,
    timestamps: bool,
    since: float | None,
) -> int:
    if container and all_containers:
        raise UsageError("-c and --all-containers exclude each other", hint="leave out one of them")
    own_log = bool(container) or previous or all_containers
    if (timestamps or since is not None) and not own_log:
        raise UsageError(
            f"--{'timestamps' if timestamps else 'since'} needs -c NAME, -p or --all-containers: "
            "the agent's output is kept as bytes, without times",
            hint="moorage events NAME shows when things happened",
        )
    if since_start and own_log:
        raise UsageError("--since-start is about the agent's output, not a container's", hint="leave it out")
    async with call.sessions() as sessions:
        try:
            how: dict[str, Any] = {
                "previous": previous,
                "follow": follow,
                "tail": tail,
                "timestamps": timestamps,
                "since": None if since is None else math.ceil(since),
            }
            if all_containers:
                await print_all_logs(call, sessions, name, **how)
            elif own_log:
                await _print_container_log(sessions, name, container, **how)
            else:
                await _print_transcript(call, sessions, name, follow, tail, since_start)
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise
    return 0


async def _print_container_log(
    sessions: SessionVerbs,
    name: str,
    container: str,
    **how: Any,
) -> None:
    """``how``: as ``SessionVerbs.container_logs`` takes it."""
    if not container:
        container = (await sessions.view(name)).session.inventory.snapshot.main_container
    stdout = stdout_writer()
    async for chunk in sessions.container_logs(name, container, **how):
        await stdout.write(chunk)


async def _print_transcript(
    call: Call, sessions: SessionVerbs, name: str, follow: bool, tail: int | None, since_start: bool
) -> None:
    offset = 0
    if since_start:
        run = (await sessions.view(name)).session.run
        offset = run.base_offset if run is not None else 0
    if tail is not None:
        last = LastLines(tail)
        async for item in sessions.logs(name, offset=offset):
            if isinstance(item, Output):
                last.add(item.data)
                offset = item.offset + len(item.data)
        await stdout_writer().write(last.text())
        if not follow:
            return
    await _copy(call, sessions.logs(name, follow=follow, offset=offset))


async def _copy(call: Call, items: AsyncIterator[Output | Gap]) -> None:
    stdout = stdout_writer()
    async for item in items:
        if isinstance(item, Output):
            await stdout.write(item.data)
        else:
            call.terminal.say(gap_notice(item))
