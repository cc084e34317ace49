"""How long a command may be: argv and environment travel to agentctl in one request.

Called by ``sessions`` before anything is recorded or sent. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from moorage.core.errors import UsageError
from moorage.core.wire.frames import MAX_PAYLOAD

ROOM = 4 << 10
"""Bytes of a request that are not the command: ids, directory, sizes."""

LIMIT = MAX_PAYLOAD - ROOM


def check_command_size(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Raises UsageError when command and variables, encoded, exceed LIMIT bytes."""
    size = len(json.dumps([list(argv), dict(env)]))
    if size > LIMIT:
        raise UsageError(
            f"the command and its variables take {size} bytes, {LIMIT} fit",
            field="command",
            hint="put what is long into a file (moorage cp, or --source) and name the file",
        )
