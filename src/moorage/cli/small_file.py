"""What a person names and is small, a file or stdin: read whole, or told why not.

Called by ``choosing`` (names), ``environment`` (a file of variables) and ``launching`` (a template).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from moorage.cli.signals import ending_at_once
from moorage.core.errors import NotFound, UsageError

LIMIT: Final = 1024 * 1024
"""Bytes."""


def read_small_file(file: str, what: str, *, field: str, hint: str) -> bytes:
    """All of it. ``hint``: for one that cannot be read. Raises NotFound, or UsageError if it is too large."""
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(LIMIT + 1)
    except OSError as error:
        said = f"cannot read the {what} {file or repr(file)}: {error.strerror}"
        raise NotFound(said, field=field, hint=hint) from error
    check_size(data, file, field)
    return data


def check_size(data: bytes, file: str, field: str) -> None:
    """Raises UsageError for what was read beyond the limit."""
    if len(data) > LIMIT:
        raise UsageError(f"{file} is larger than {LIMIT} bytes", field=field, hint="split it")


def read_stdin(most: int, *, field: str) -> bytes:
    """At most so many bytes of stdin, to its end; meanwhile a signal ends the process. Raises UsageError."""
    if sys.stdin is None:
        raise UsageError("stdin is closed", field=field, hint="give the path of a file")
    with ending_at_once():
        return sys.stdin.buffer.read(most)
