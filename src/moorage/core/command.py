"""What a command may be: argv, environment and directory travel to agentctl in one request, as JSON.

Called by ``sessions`` before anything is recorded or sent, and by the command line. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from moorage.core.errors import UsageError
from moorage.core.wire.frames import MAX_PAYLOAD

ROOM = 4 << 10
"""Bytes of a request that are not the command: ids, directory, sizes."""

LIMIT = MAX_PAYLOAD - ROOM


def check_command(argv: Sequence[str], env: Mapping[str, str], cwd: str = "", first_input: str = "") -> None:
    """Raises UsageError when command, variables and first input, encoded, exceed LIMIT bytes, or when a part
    is not UTF-8. A value of a variable is in no message."""
    for number, word in enumerate(argv, 1):
        check_text(word, f"word {number} of the command", field="command")
    for name, value in env.items():
        check_text(name, "the name of a variable", field="env")
        check_text(value, f"the value of {name}", field=f"env.{name}")
    check_text(cwd, "the directory of the command", field="cwd")
    check_text(first_input, "the prompt", field="prompt")
    size = len(json.dumps([list(argv), dict(env), *([first_input] if first_input else [])]))
    if size > LIMIT:
        prompt = ", its prompt" if first_input else ""
        raise UsageError(
            f"the command{prompt} and its variables take {size} bytes, {LIMIT} fit",
            field="command",
            hint="put what is long into a file (moorage cp, or --source) and name the file",
        )


FOR_A_POD = "words and paths for a Pod must be UTF-8; put other bytes into a file (moorage cp)"


def check_text(text: str, what: str, *, field: str, hint: str = FOR_A_POD) -> None:
    """Raises UsageError for text that is not UTF-8. Python holds such bytes of a command line as lone
    surrogates; JSON has no place for them, and a Pod would get other bytes than were meant."""
    if not is_utf8(text):
        raise UsageError(
            f"{what} is not UTF-8 text",
            field=field,
            hint=hint,
        )


def is_utf8(text: str) -> bool:
    """Can it be written as UTF-8? Not so with lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
