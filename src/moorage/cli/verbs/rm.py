"""``moorage rm``: remove sessions, their cluster objects, output and history."""

from __future__ import annotations

from collections.abc import Sequence

import click

from moorage.cli.choosing import Choice
from moorage.cli.command import Call, verb
from moorage.cli.confirm import confirm_removal, removal_lines
from moorage.cli.naming import all_known, for_each, none_found
from moorage.cli.output import print_list
from moorage.cli.progress import ProgressPrinter
from moorage.cli.shapes import removal_object
from moorage.cli.verbs import VERBS
from moorage.ports.sessions import Removal, Report, SessionVerbs


@verb(
    "rm",
    help=VERBS["rm"].summary
    + """

    Deletes only objects whose ownership is proved by UID; an existing claim is never deleted. On a
    terminal it lists what goes and what stays, and asks; elsewhere -y is needed.""",
    examples=("moorage rm NAME", "moorage rm NAME1 NAME2 -y", "moorage rm -l team=web --dry-run"),
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every session, archived ones too; with -n, those of the namespace.",
)
@click.option(
    "-l",
    "--selector",
    metavar="LABELS",
    default="",
    help="Sessions whose Pod has them, as for ls (default: by name).",
)
@click.option(
    "-f",
    "--filename",
    "file",
    metavar="FILE",
    default="",
    help="Names, one a line (- is stdin; default: those typed).",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--force", is_flag=True, help="Skip drain and link, never the proof of ownership; do not ask.")
@click.option("--keep-workspace", is_flag=True, help="Leave the claim that Moorage made, with what is on it.")
@click.option(
    "--wait/--no-wait", default=True, help="Wait until all is gone (default), or leave it to who drives it."
)
@click.option("--dry-run", is_flag=True, help="List what would go and stay; change nothing.")
@click.argument("names", nargs=-1, metavar="NAME…")
async def command(
    call: Call,
    names: tuple[str, ...],
    everything: bool,
    selector: str,
    file: str,
    yes: bool,
    force: bool,
    keep_workspace: bool,
    wait: bool,
    dry_run: bool,
) -> int:
    choice = Choice(names, file, selector, everything)
    choice.check()
    report = ProgressPrinter(call.terminal)
    async with call.sessions() as sessions:
        if choice.listed:
            namespace = call.default("namespace", call.options.namespace)
            views = await sessions.list_views(include_archived=True, namespace=namespace)
            chosen = choice.among(views)
            if not chosen:
                call.terminal.say(none_found(namespace))
                return 0
        else:
            chosen = await choice.given()
            await all_known(sessions, chosen)
        if dry_run or not (yes or force):
            plans = await _plans(sessions, chosen, report, force, keep_workspace)
            if dry_run:
                _show(call, plans)
                return 0
            await confirm_removal(call, "rm", plans, [*_flags(keep_workspace, wait), *choice.words])

        async def act(name: str) -> dict[str, object]:
            done = await sessions.remove(name, report, force=force, keep_workspace=keep_workspace, wait=wait)
            return removal_object(done)

        return await for_each(call, sessions, chosen, act)


def _flags(keep_workspace: bool, wait: bool) -> list[str]:
    """What a command that is told must repeat."""
    return [*(["--keep-workspace"] if keep_workspace else []), *([] if wait else ["--no-wait"])]


async def _plans(
    sessions: SessionVerbs, names: Sequence[str], report: Report, force: bool, keep: bool
) -> list[Removal]:
    """What removing each would do."""
    return [
        await sessions.remove(name, report, force=force, dry_run=True, keep_workspace=keep)
        for name in dict.fromkeys(names)
    ]


def _show(call: Call, plans: list[Removal]) -> None:
    text = "".join(f"{line}\n" for plan in plans for line in removal_lines(plan))
    print_list(call, [removal_object(plan) for plan in plans], lambda: text)
