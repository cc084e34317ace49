"""What a data folder still holds of sessions, read beside the product. For tests that remove all of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def left_in(data: Path) -> list[str]:
    """Rows of secrets, records that are not deleted, spooled sources: a line each."""
    with closing(sqlite3.connect(data / "moorage.db")) as database:
        refs = [f"secret {ref}" for (ref,) in database.execute("SELECT ref FROM secrets")]
        live = "SELECT name, phase FROM sessions WHERE phase <> 'deleted'"
        rows = [f"session {name} ({phase})" for name, phase in database.execute(live)]
    spool = data / "sources"
    return refs + rows + ([f"file {path.name}" for path in spool.iterdir()] if spool.exists() else [])
