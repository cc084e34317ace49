"""``moorage doctor``: check the cluster, our rights in it, and this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from moorage.cli.command import Call, verb
from moorage.cli.output import print_list
from moorage.cli.shapes import check_object
from moorage.cli.tables import table
from moorage.cli.verbs import VERBS
from moorage.core.errors import Conflict
from moorage.ports.sessions import Check


@verb(
    "doctor",
    help=VERBS["doctor"].summary
    + """

    Asks and dry-runs only; nothing is left in the cluster. The fixes of what failed or is warned of stand
    below the table; one script grants all missing rights. Ends with 1 when a check failed; warnings do not
    count.

    --bundle writes an archive for whoever looks into a fault: versions, settings, checks, and of each
    session record, events, Pod and how much output is kept; no value of a variable, no command or output.""",
    examples=(
        "moorage doctor --context dev -n agents",
        "moorage doctor --context dev -n agents -o wide",
        "moorage doctor --context dev --bundle report.tar.gz",
    ),
)
@click.option(
    "--bundle", metavar="FILE", default="", help="Write a report without credentials (default: none)."
)
async def command(call: Call, bundle: str) -> int:
    if bundle and Path(bundle).exists():
        raise Conflict(f"{bundle} is there already", field="--bundle", hint="name another file")
    async with call.sessions() as sessions:
        if sessions.where:
            call.terminal.note(f"checking {sessions.where}")
        checks = await sessions.doctor()
        if bundle:
            from moorage.cli.bundle import write_bundle

            count = await write_bundle(call, sessions, checks, Path(bundle))
            call.terminal.note(
                f"wrote {bundle} with {count} session{'s'[: count != 1]}; read it before you hand it on"
            )
    print_list(call, [check_object(check) for check in checks], lambda: _table(call, checks))
    if call.output in ("table", "wide"):
        for check in checks:
            if check.status in ("failed", "warning") and (call.output == "table" or "\n" in check.fix):
                call.terminal.say(f"{check.status}: {check.key}: {check.detail}")
                if check.fix:  # what follows its first line is a script, which no indent may spoil
                    call.terminal.say(f"  hint: {check.fix}")
    return 1 if any(check.status == "failed" for check in checks) else 0


def _table(call: Call, checks: Sequence[Check]) -> str:
    """A fix is a command to type, so it is never cut: it stands below the table, or in a column with wide."""
    wide = call.output == "wide"
    header = ["KEY", "STATUS", "MS", "DETAIL", *(["FIX"] if wide else [])]
    rows = [
        [
            check.key,
            check.status,
            str(check.duration_ms),
            check.detail,
            *([check.fix.partition("\n")[0]] if wide else []),
        ]
        for check in checks
    ]
    return table(call.terminal, header, rows, flexible=() if wide else ("DETAIL",), right=("MS",))
