"""``moorage version``: versions of this program, of the helper it ships, and of the API server."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.output import print_object
from moorage.cli.text import plain
from moorage.cli.verbs import VERBS
from moorage.core.errors import MoorageError


@verb(
    "version",
    help=VERBS["version"].summary
    + """

    A server that cannot be reached is said so, and so is the embedded cluster while it does not run;
    neither is a failure.""",
    examples=("moorage version --context dev", "moorage version --client -o json"),
)
@click.option("--client", is_flag=True, help="Do not ask the server.")
async def command(call: Call, client: bool) -> int:
    versions = call.wiring.versions()
    server, why, hint = "", "not asked", ""
    if not client:
        try:
            async with call.sessions() as sessions:
                server, why = await sessions.server_version(), ""
        except MoorageError as error:
            why, hint = error.message, error.hint
    value = {
        "kind": "Version",
        "name": versions.client,
        "client": {"version": versions.client},
        "helper": {"version": versions.helper} if versions.helper else None,
        "server": {"version": server} if server else None,
        "server_error": why,
    }
    lines = [
        f"client  {versions.client}",
        f"helper  {versions.helper or 'none in this installation'}",
        f"server  {plain(server) if server else f'unknown ({plain(why)})'}",
    ]
    print_object(call, value, lambda: "".join(f"{line}\n" for line in lines))
    if hint:
        call.terminal.note(f"hint: {hint}")
    return 0
