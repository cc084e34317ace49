"""``moorage fork``: new sessions on copies of a session's workspace."""

from __future__ import annotations

import click

from moorage.cli.command import Call, verb
from moorage.cli.naming import for_each, suggest
from moorage.cli.output import print_object
from moorage.cli.progress import ProgressPrinter
from moorage.cli.shapes import session_object
from moorage.cli.tables import table
from moorage.cli.verbs import VERBS
from moorage.core.errors import Conflict, MoorageError
from moorage.core.plans.fork import METHODS
from moorage.ports.forks import ForkPlan, ForkRequest


@verb(
    "fork",
    help=VERBS["fork"].summary
    + """

    A fork runs the same command, with the same variables, on a copy of /workspace; everything else is its
    own. The agent of NAME must have ended (moorage stop), or --live takes files as they are. copy goes
    through both Pods, clone is made by the storage driver; the agent starts once the files are proved equal.
    """,
    examples=(
        "moorage fork NAME",
        "moorage fork NAME --n 3 --name try",
        "moorage fork NAME --method clone --dry-run",
    ),
)
@click.option("--n", "count", metavar="N", type=int, default=1, help="So many forks (default: 1).")
@click.option(
    "--name",
    "new_name",
    metavar="NEW",
    default="",
    help="Name, or with --n what numbers follow (default: NAME-fork-1).",
)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    metavar="WORD",
    default="auto",
    help="copy, clone, or auto (default): copy where there is a Pod, else clone.",
)
@click.option("--live", is_flag=True, help="Also while the agent works: files may be half written.")
@click.option("--dry-run", is_flag=True, help="Print the checks and what would be made; change nothing.")
@click.argument("name", metavar="NAME")
async def command(
    call: Call, name: str, count: int, new_name: str, method: str, live: bool, dry_run: bool
) -> int:
    request = ForkRequest(count, new_name, method, live)
    report = ProgressPrinter(call.terminal)
    async with call.sessions() as sessions:
        try:
            if dry_run:
                return _show(call, await sessions.fork_plan(name, request))
            forks = await sessions.fork(name, request, report)
        except MoorageError as error:
            await suggest(sessions, error, name)
            raise

        async def act(fork: str) -> dict[str, object]:
            return session_object(await sessions.resume(fork, report))

        return await for_each(call, sessions, [fork.name for fork in forks], act)


def _show(call: Call, plan: ForkPlan) -> int:
    """The preflight's verdict; the exit code that the fork itself would end with."""
    print_object(call, _object(plan), lambda: _text(call, plan))
    if call.output in ("table", "wide"):
        for check in plan.checks:
            if check.status in ("failed", "warning") and call.output == "table":
                call.terminal.say(f"{check.status}: {check.key}: {check.detail}")
                if check.fix:
                    call.terminal.say(f"  hint: {check.fix}")
    return 0 if plan.success else Conflict.exit_code


def _text(call: Call, plan: ForkPlan) -> str:
    wide = call.output == "wide"
    header = ["KEY", "STATUS", "DETAIL", *(["FIX"] if wide else [])]
    rows = [[check.key, check.status, check.detail, *([check.fix] if wide else [])] for check in plan.checks]
    checks = table(call.terminal, header, rows, flexible=() if wide else ("DETAIL",))
    if not plan.success:
        return checks
    return checks + f"would {plan.method} the workspace of {plan.session} into {', '.join(plan.names)}\n"


def _object(plan: ForkPlan) -> dict[str, object]:
    workspace = plan.workspace
    return {
        "kind": "ForkPlan",
        "name": plan.session,
        "success": plan.success,
        "method": plan.method or None,
        "names": list(plan.names),
        "workspace": {
            "mode": workspace.mode.value,
            "size": workspace.size,
            "storage_class": workspace.storage_class,
        },
        "checks": [
            {"key": one.key, "status": one.status, "detail": one.detail, "fix": one.fix}
            for one in plan.checks
        ],
    }
