"""``moorage changes``: what a session has changed, against the commit it was given."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.naming import suggest
from moorage.cli.output import print_object
from moorage.cli.progress import ProgressPrinter
from moorage.cli.streams import stdout_writer
from moorage.cli.tables import table
from moorage.cli.text import plain
from moorage.cli.verbs import VERBS
from moorage.core.errors import MoorageError
from moorage.ports.changes import Changes


@verb(
    "changes",
    help=VERBS["changes"].summary
    + """

    Against the commit that its source was pinned to: committed or not, new files too, but for those that git
    ignores. The files are read from its Pod and compared here. --stat prints a table of files; so do -o json
    and yaml.""",
    examples=("moorage changes NAME", "moorage changes NAME --stat", "moorage changes NAME | less -R"),
)
@click.option("--stat", is_flag=True, help="Print which files differ, not how.")
@click.argument("name", metavar="NAME")
async def command(call: Call, name: str, stat: bool) -> int:
    async with call.sessions() as sessions:
        try:
            found = await sessions.changes(name, ProgressPrinter(call.terminal))
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise
    if not found.files:
        call.terminal.note(f"nothing is changed since commit {found.commit[:12]}")
    if stat or call.output not in ("table", "wide"):
        print_object(call, _object(found), lambda: _table(call, found))
    elif call.terminal.stdout_tty:
        # What a Pod has written must not drive our terminal; a file or pipe gets it byte for byte.
        call.terminal.data(plain(found.patch.decode(errors="replace"), lines=True))
    else:
        await stdout_writer().write(found.patch)
    return 0


def _table(call: Call, found: Changes) -> str:
    if not found.files:
        return ""
    rows = [[one.status, _lines(one.added), _lines(one.deleted), one.path] for one in found.files]
    return table(call.terminal, ["STATUS", "ADDED", "DELETED", "PATH"], rows, right=("ADDED", "DELETED"))


def _lines(count: int | None) -> str:
    return "binary" if count is None else str(count)


def _object(found: Changes) -> dict[str, object]:
    return {
        "kind": "Changes",
        "name": found.session,
        "commit": found.commit,
        "repository": found.repository,
        "files": [
            {"path": one.path, "status": one.status, "added": one.added, "deleted": one.deleted}
            for one in found.files
        ],
    }
