"""``moorage port-forward``: ports of this machine that lead to ports in a session's Pod."""

from __future__ import annotations

from typing import Final

import click

from moorage.cli.command import Call, verb
from moorage.cli.forwarding import LOOPBACK, Forwarder, Listening
from moorage.cli.naming import suggest
from moorage.cli.output import print_list
from moorage.cli.values import PORTS
from moorage.cli.verbs import VERBS
from moorage.core.errors import MoorageError, UsageError

ADDRESSES: Final = {"localhost": LOOPBACK, "127.0.0.1": LOOPBACK[:1], "::1": LOOPBACK[1:]}
"""What ``--address`` takes: never an address that others reach."""


@verb(
    "port-forward",
    help=VERBS["port-forward"].summary
    + """

    Listens on the loopback of this machine only (127.0.0.1 and ::1); each connection goes through the link to
    the loopback in the Pod, also of a Pod that replaces this one. LOCAL is the same number where it is left
    out; 0, or nothing before the colon, takes a free port, which is printed. Ctrl-C ends it.""",
    examples=(
        "moorage port-forward NAME 8080",
        "moorage port-forward NAME 5000:80 0:5432",
        "moorage port-forward NAME :8080 -o json",
    ),
)
@click.option(
    "--address",
    metavar="ADDRESS",
    default="localhost",
    help="127.0.0.1, ::1, or localhost (default) for both.",
)
@click.argument("name", metavar="NAME")
@click.argument("ports", nargs=-1, required=True, type=PORTS, metavar="[LOCAL:]PORT…")
async def command(call: Call, address: str, name: str, ports: tuple[tuple[int, int], ...]) -> int:
    if address not in ADDRESSES:
        raise UsageError(
            f"port-forward does not listen on {address!r}: a port of a session is for this machine alone",
            field="--address",
            hint=f"use one of: {', '.join(ADDRESSES)}; for another machine run moorage there",
        )
    chosen = [local for local, _ in ports if local]
    if twice := next((local for local in chosen if chosen.count(local) > 1), None):
        raise UsageError(
            f"port {twice} of this machine is named twice", hint="write another LOCAL:PORT, or 0:PORT"
        )
    async with call.sessions() as sessions:
        try:
            await sessions.reach(name)
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise
        async with Forwarder(sessions, name, call.terminal.say) as forwarder:
            listening = [await forwarder.listen(local, port, ADDRESSES[address]) for local, port in ports]
            print_list(
                call,
                [_object(name, one) for one in listening],
                lambda: "".join(f"{one.addresses[0]} -> {one.port}\n" for one in listening),
            )
            call.terminal.note("Ctrl-C ends it")
            await forwarder.wait()
    return 0


def _object(name: str, one: Listening) -> dict[str, object]:
    return {
        "kind": "Forward",
        "name": one.addresses[0],
        "session": name,
        "addresses": list(one.addresses),
        "local_port": one.local,
        "port": one.port,
        "url": f"http://{one.addresses[0]}",
    }
