"""``moorage down``: end the server and the embedded cluster of the data folder."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.confirm import confirm
from moorage.cli.text import plain
from moorage.cli.verbs import VERBS


@verb(
    "down",
    help=VERBS["down"].summary
    + """

    Agents on other clusters run on. The embedded cluster's process and the containers of its Pods end, as if
    the machine was switched off. Sessions, workspaces and output stay; the next command that needs the
    cluster starts it and its Pods again. A session that shall not come back is paused or removed first.""",
    examples=("moorage down", "moorage down -y"),
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask, though Pods run.")
async def command(call: Call, yes: bool) -> int:
    cluster, server = call.wiring.own_cluster(call.options), call.wiring.own_server(call.options)
    pods, serves = await cluster.pods(), server.running()
    if pods is None and serves is None:
        call.terminal.note("neither a server nor the embedded cluster runs")
        return 0
    if pods and not yes:
        ends = [f"  ends   the containers of Pod {plain(pod)}" for pod in pods]
        stays = "sessions, workspaces and output; the next command that needs the cluster starts it again"
        await confirm(call, "down", [*ends, f"  stays  {stays}"], "end the embedded cluster?", words=[])
    if serves is not None and await server.end():
        call.terminal.note(f"the server {plain(serves.url)} has ended; agents run on".replace("  ", " "))
    if pods is None:
        return 0
    await cluster.end()
    call.terminal.note("the embedded cluster has ended; the next command that needs it starts it again")
    return 0
