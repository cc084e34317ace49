"""``moorage whoami``: who the API server takes us for, where, and what we may do there."""

from __future__ import annotations

from moorage.cli.command import Call, verb
from moorage.cli.output import print_object
from moorage.cli.shapes import caller_object
from moorage.cli.text import plain
from moorage.cli.verbs import VERBS
from moorage.ports.sessions import Caller


@verb(
    "whoami",
    help=VERBS["whoami"].summary
    + """

    By what the API server itself says: the user after all plugins and --as, its groups, and of the rights
    that sessions need in the namespace those that are there and those that are missing. Grants nothing and
    starts nothing; `moorage doctor` has the script that grants what is missing.""",
    examples=("moorage whoami", "moorage whoami --context dev -n agents", "moorage whoami --as jane -o json"),
)
async def command(call: Call) -> int:
    async with call.sessions() as sessions:
        caller = await sessions.whoami()
    print_object(call, caller_object(caller), lambda: _lines(caller))
    return 0


def _lines(caller: Caller) -> str:
    rows = [
        ("user", caller.user or "(the server does not say)"),
        ("groups", ", ".join(caller.groups) or "-"),
        ("context", caller.context or "- (the embedded cluster of this machine)"),
        ("namespace", caller.namespace),
        ("server", caller.server),
    ]
    for one in caller.rights:
        missing = f"; missing: {', '.join(one.missing)}" if one.missing else ""
        rows.append((one.resource, f"{', '.join(one.verbs) or 'nothing'}{missing}"))
    width = max(len(key) for key, _ in rows)
    return "".join(f"{key:<{width}}  {plain(value)}\n" for key, value in rows)
