"""The table of routes in docs/rest.md, from the application's own description.

Called by ``tools.docs`` and by the page's test. The text around the table is written by hand.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

from moorage.core.service.access import ACTIONS, Need, Rule
from moorage.server.app import PREFIX, make_app
from moorage.server.guard import ACTION
from moorage.server.parts import ServerParts
from moorage.server.routes.terminal import PATH

BEGIN, END = "<!-- routes: from the code, by ./dev docs -->", "<!-- end of routes -->"
_WHO = {
    Need.NOBODY: "anybody",
    Need.PERSON: "who is signed in",
    Need.OWNER: "the owner",
    Need.ADMINISTRATOR: "administrators",
}


def renewed(page: str) -> str:
    """``page`` with its table as the code has it."""
    return re.sub(
        f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: f"{BEGIN}\n{table()}\n{END}", page, flags=re.S
    )


def table() -> str:
    described: dict[str, dict[str, Any]] = make_app(cast(ServerParts, SimpleNamespace())).openapi()["paths"]
    rows = [
        (path.removeprefix(PREFIX), method.upper(), ACTIONS[route[ACTION]])
        for path, methods in described.items()
        for method, route in methods.items()
    ]
    rows.append((PATH, "WebSocket", ACTIONS["session.attach"]))
    head = ["| path | method | for | read-only token | audited |", "|---|---|---|---|---|"]
    return "\n".join(head + [_line(*row) for row in sorted(rows, key=lambda row: row[:2])])


def _line(path: str, method: str, rule: Rule) -> str:
    reads, audited = "no" if rule.changes else "yes", "yes" if rule.audited else ""
    return f"| `{path}` | {method} | {_WHO[rule.need]} | {reads} | {audited} |"
