"""``moorage up``: serve the data folder to browsers and programs, in the foreground or detached."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import signal
import sys
from collections.abc import Callable

import click

from moorage.cli.command import Call, verb
from moorage.cli.signals import on_signals
from moorage.cli.text import plain
from moorage.cli.verbs import VERBS
from moorage.cli.wiring import Served, ServeRequest
from moorage.core.errors import UsageError

LISTEN = "127.0.0.1:7410"
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]/\s]+)):(?P<port>\d{1,5})")
_PASSWORD = re.compile(r"//[^/@]*:[^/@]*@|[?&]password=", re.IGNORECASE)


def parse_listen(text: str) -> tuple[str, int]:
    """``HOST:PORT`` or ``[IPV6]:PORT``; port 0 is any free one. Raises UsageError."""
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > 65535:
        raise UsageError(
            f"{text!r} is no address to listen on", field="--listen", hint=f"HOST:PORT, as in {LISTEN}"
        )
    return found["six"] or found["host"], int(found["port"])


def check_database_url(text: str) -> str:
    """Raises UsageError for one with a password: every user of this machine can read a command line."""
    if _PASSWORD.search(text):
        raise UsageError(
            "a password in --database-url would stand in the list of processes",
            field="--database-url",
            hint="put the whole URL into MOORAGE_DATABASE_URL, or the password into a PGPASSFILE",
        )
    return text


@verb(
    "up",
    help=VERBS["up"].summary
    + """

    It listens on this machine alone unless --listen says otherwise, and prints a link that signs one browser
    in, once. Sessions go on when it ends, and the next `up` goes on with them. Other commands work beside it.

    The embedded cluster serves it only while it is reached from this machine alone and has one user: its
    programs run as the user of this process.""",
    examples=(
        "moorage up",
        "moorage up -d",
        "moorage up --listen 0.0.0.0:7410 --base-url https://moorage.example.com",
    ),
)
@click.option(
    "--listen", metavar="HOST:PORT", default=LISTEN, help=f"Where to listen; port 0: any (default {LISTEN})."
)
@click.option(
    "--base-url",
    metavar="URL",
    default="",
    help="How browsers reach it (default: the address it listens on).",
)
@click.option(
    "--database-url",
    metavar="URL",
    default="",
    help="Where records are kept (default: MOORAGE_DATABASE_URL, else the data folder).",
)
@click.option("--no-embedded", is_flag=True, help="Without the embedded cluster.")
@click.option("--told", is_flag=True, hidden=True, help="Tell the one who started it as one line of JSON.")
@click.option("-d", "--detach", is_flag=True, help="Return once it serves; `moorage down` ends it.")
async def command(
    call: Call, listen: str, base_url: str, database_url: str, no_embedded: bool, told: bool, detach: bool
) -> int:
    host, port = parse_listen(listen)
    request = ServeRequest(host, port, base_url, check_database_url(database_url), embedded=not no_embedded)
    if told:
        return await _serve(call, request, _tell)
    if other := call.wiring.own_server(call.options).running():
        where = other.url or "about to start"
        call.terminal.note(f"the server of this data folder runs already: {where} (process {other.pid})")
        if other.url:
            _show(call, await call.wiring.sign_in_link(call.options, database_url, other.url), "")
        return 0
    if detach:
        served = await call.wiring.serve_detached(call.options, request)
        _told(call, served)
        call.terminal.note("it runs on in the background; end it with: moorage down")
        return 0
    code = await _serve(call, request, lambda served: _told(call, served))
    call.terminal.note("the server has ended; agents run on")
    return code


async def _serve(call: Call, request: ServeRequest, ready: Callable[[Served], None]) -> int:
    stop = asyncio.Event()
    with on_signals({signal.SIGINT: stop.set, signal.SIGTERM: stop.set}):
        await call.wiring.serve(call.options, request, ready, stop)
    return 0


def _tell(served: Served) -> None:
    """To ``up -d``, which reads this one line and leaves."""
    click.echo(json.dumps(dataclasses.asdict(served)))
    sys.stdout.flush()


def _told(call: Call, served: Served) -> None:
    call.terminal.note(f"serving {served.url}")
    _show(call, served.link, served.why_no_embedded)


def _show(call: Call, link: str, why_no_embedded: str) -> None:
    if why_no_embedded:
        call.terminal.note(f"the embedded cluster is off: {plain(why_no_embedded)}")
    if link:
        call.terminal.note("sign in once, within 15 minutes:")
        click.echo(link)
