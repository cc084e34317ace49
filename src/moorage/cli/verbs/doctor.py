"""``moorage doctor``: check the cluster, our rights in it, and this machine."""

from __future__ import annotations

from moorage.cli.command import Call, verb
from moorage.cli.output import print_list
from moorage.cli.shapes import check_object
from moorage.cli.tables import table
from moorage.cli.verbs import VERBS


@verb(
    "doctor",
    help=VERBS["doctor"].summary
    + """

    Ends with 1 when a check failed; warnings do not count.""",
    examples=("moorage doctor", "moorage doctor --context dev -n agents -o json"),
)
async def command(call: Call) -> int:
    async with call.sessions() as sessions:
        call.terminal.note(f"checking {sessions.where}")
        checks = await sessions.doctor()
    rows = [[c.key, c.status, str(c.duration_ms), c.detail, c.fix] for c in checks]
    header = ["KEY", "OK", "MS", "DETAIL", "FIX"]
    print_list(
        call,
        [check_object(check) for check in checks],
        lambda: table(call.terminal, header, rows, flexible=("DETAIL", "FIX")),
    )
    failed = [check for check in checks if check.status == "failed"]
    if failed and call.output == "table":
        for check in failed:
            call.terminal.say(f"failed: {check.key}: {check.detail}")
            if check.fix:
                call.terminal.say(f"  hint: {check.fix}")
    return 1 if failed else 0
