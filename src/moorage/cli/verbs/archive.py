"""``moorage archive``: remove the cluster objects of sessions; output and history stay."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.confirm import confirm_removal
from moorage.cli.naming import all_known, for_each
from moorage.cli.progress import ProgressPrinter
from moorage.cli.shapes import session_object
from moorage.cli.verbs import VERBS


@verb(
    "archive",
    help=VERBS["archive"].summary
    + """

    Deletes the Pod, and the claim if Moorage made it: the workspace is gone afterwards. Asks first on a
    terminal; elsewhere -y is needed.""",
    examples=("moorage archive NAME", "moorage archive NAME -y"),
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--force", is_flag=True, help="Skip drain and link, never the proof of ownership; do not ask.")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
async def command(call: Call, names: tuple[str, ...], yes: bool, force: bool) -> int:
    report = ProgressPrinter(call.terminal)
    async with call.sessions() as sessions:
        await all_known(sessions, names)
        if not (yes or force):
            plans = [await sessions.remove(name, report, dry_run=True) for name in dict.fromkeys(names)]
            await confirm_removal(call, "archive", plans, names)

        async def act(name: str) -> dict[str, object]:
            return session_object(await sessions.archive(name, report, force=force))

        return await for_each(call, sessions, names, act)
