"""``moorage export``: take a session's changes home, as a patch or a branch."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.naming import suggest
from moorage.cli.output import print_object
from moorage.cli.progress import ProgressPrinter
from moorage.cli.streams import stdout_writer
from moorage.cli.verbs import VERBS
from moorage.core.errors import MoorageError, UsageError
from moorage.ports.changes import ExportedBranch
from moorage.ports.sessions import SessionVerbs


@verb(
    "export",
    help=VERBS["export"].summary
    + """

    --patch writes to stdout what `git apply` takes onto the commit that the session was given. --branch makes
    one commit on a new branch of the local repository that it came from; the work tree there stays as it is.
    What counts as changed: see moorage changes.""",
    examples=("moorage export NAME --patch > work.patch", "moorage export NAME --branch agents/work"),
)
@click.option("--patch", is_flag=True, help="Write a patch to stdout, binary files included.")
@click.option(
    "--branch", metavar="BRANCH", default="", help="Make this new branch (required without --patch)."
)
@click.argument("name", metavar="NAME")
async def command(call: Call, name: str, patch: bool, branch: str) -> int:
    if patch == bool(branch):
        raise UsageError(
            "say where to: as a patch, or as a branch", hint="--patch > FILE, or --branch BRANCH"
        )
    async with call.sessions() as sessions:
        try:
            return await (_patch(call, sessions, name) if patch else _branch(call, sessions, name, branch))
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise


async def _patch(call: Call, sessions: SessionVerbs, name: str) -> int:
    if call.terminal.stdout_tty:
        raise UsageError(
            "a patch would fill your terminal",
            hint=f"moorage export {name} --patch > FILE; moorage changes {name} shows it",
        )
    found = await sessions.changes(name, ProgressPrinter(call.terminal))
    if not found.files:
        call.terminal.note(f"nothing is changed since commit {found.commit[:12]}")
    await stdout_writer().write(found.patch)
    return 0


async def _branch(call: Call, sessions: SessionVerbs, name: str, branch: str) -> int:
    made = await sessions.export_branch(name, branch, ProgressPrinter(call.terminal))
    print_object(call, _object(made), lambda: f"{made.commit}\n")
    files = "1 file" if made.files == 1 else f"{made.files} files"
    call.terminal.note(f"{files} on branch {made.branch} of {made.repository}, on top of {made.base[:12]}")
    return 0


def _object(made: ExportedBranch) -> dict[str, object]:
    return {
        "kind": "ExportedBranch",
        "name": made.branch,
        "session": made.session,
        "repository": made.repository,
        "base": made.base,
        "commit": made.commit,
        "files": made.files,
    }
