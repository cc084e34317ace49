"""A glance into the data folder: names of sessions, for a shell that completes a word.

``main`` calls it. It imports nothing else of the store, because a person waits for the answer at each press
of a key; it reads only, makes nothing, and where it cannot read it knows nothing.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

DATABASE_NAME: Final = "moorage.db"

BUSY_SECONDS: Final = 0.2
MOST: Final = 1000
"""Names given at most, the newest sessions' first."""

_QUERY = "SELECT name FROM sessions WHERE phase <> 'deleted' {} ORDER BY created_at DESC LIMIT ?"


def session_names(data_dir: Path, *, archived: bool) -> list[str]:
    """Names of the sessions there are, newest first; [] where there is no store or it cannot be read.

    ``archived``: those too of which only output and history are left.
    """
    path = data_dir / DATABASE_NAME
    if not path.is_file():
        return []
    query = _QUERY.format("" if archived else "AND phase <> 'archived'")
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=BUSY_SECONDS
        )
        try:
            return [name for (name,) in connection.execute(query, (MOST,))]
        finally:
            connection.close()
    except sqlite3.Error:
        return []
