"""A file that a person names and that is small: read whole, or told why not. It never reads stdin.

Called by ``choosing`` (a file of names) and ``environment`` (a file of variables).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

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
