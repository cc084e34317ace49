"""Objects and recent changes on disk: SQLite, so that a SIGKILL at any moment loses nothing answered.

Called by ``storage.store`` only, synchronously: one write is one small transaction, written before the
answer. Knows bytes, not Kubernetes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from moorage.core.errors import StoreError

KEPT = 5000
"""Changes that are kept; whoever asks for older ones must list again."""
_TRIM_EVERY = 500
_SCHEMA = """
create table if not exists objects (
  resource text, namespace text, name text, body blob not null, primary key (resource, namespace, name)
) without rowid;
create table if not exists changes (
  version integer primary key, resource text, namespace text, name text, type text, body blob, previous blob
);
create table if not exists counter (version integer not null);
"""


class Row(NamedTuple):
    """One change. ``type`` as in a watch; ``previous`` is the state before it, None when there was none."""

    version: int
    resource: str
    namespace: str
    name: str
    type: str
    body: bytes
    previous: bytes | None


class Journal:
    """The file. ``None`` as its path keeps everything in memory."""

    def __init__(self, path: Path | None) -> None:
        try:
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
            self._db.execute("pragma journal_mode=wal")
            # Safe against the death of this process; only a loss of power may take the last writes back.
            self._db.execute("pragma synchronous=normal")
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            hint = "remove the folder to start with an empty cluster, or give another with --data"
            raise StoreError(
                f"the embedded cluster's objects in {path} cannot be read: {error}", hint=hint
            ) from error

    def version(self) -> int:
        """The newest version ever given out."""
        found = self._db.execute("select max(version) from counter").fetchone()[0]
        return int(found or 0)

    def objects(self) -> Iterator[tuple[str, str, str, bytes]]:
        """(resource, namespace, name, body) of all that exists."""
        yield from self._db.execute("select resource, namespace, name, body from objects")

    def changes(self) -> Iterator[Row]:
        """Recent changes, oldest first."""
        for row in self._db.execute("select * from changes order by version"):
            yield Row(*row)

    def write(self, row: Row) -> None:
        """Store one change and its effect, whole or not at all."""
        key = (row.resource, row.namespace, row.name)
        self._db.execute("begin immediate")
        try:
            if row.type == "DELETED":
                self._db.execute("delete from objects where resource=? and namespace=? and name=?", key)
            else:
                self._db.execute("replace into objects values (?, ?, ?, ?)", (*key, row.body))
            self._db.execute("insert into changes values (?, ?, ?, ?, ?, ?, ?)", row)
            self._db.execute("delete from counter")
            self._db.execute("insert into counter values (?)", (row.version,))
            if row.version % _TRIM_EVERY == 0:
                self._db.execute("delete from changes where version <= ?", (row.version - KEPT,))
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def close(self) -> None:
        self._db.close()
