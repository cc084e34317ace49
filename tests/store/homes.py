"""Where a store under test is: a folder, and either its own SQLite database or one of PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from moorage.store import SqlStore, open_store
from moorage.store.database import connect
from moorage.store.open import place_of


@dataclass(frozen=True)
class Home:
    """``url`` "": the folder's own database."""

    folder: Path
    url: str = ""

    async def open(self, **options: Any) -> SqlStore:
        return await open_store(self.folder, database_url=self.url or None, **options)

    async def change(self, statement: str, **values: Any) -> None:
        """As somebody else's hand would: SQL, past all of our code."""
        engine = connect(place_of(self.folder, self.url))
        async with engine.execution_options(moorage_write=True).begin() as connection:
            await connection.execute(sa.text(statement), values)
        await engine.dispose()

    async def spoil(self, column: str, text: str = "[1]", session_id: str = "s00000000001") -> None:
        """Write into a session's row what this code cannot read."""
        await self.change(f"UPDATE sessions SET {column} = :text WHERE id = :id", text=text, id=session_id)

    async def held(self) -> bytes:
        """All that is kept: the folder's files, and of PostgreSQL every column of every row."""
        kept = [path.read_bytes() for path in self.folder.iterdir()]
        if self.url:
            engine = connect(place_of(self.folder, self.url))
            async with engine.connect() as connection:
                names = await connection.run_sync(lambda sync: sa.inspect(sync).get_table_names())
                for name in names:
                    for row in await connection.execute(sa.text(f"SELECT * FROM {name}")):
                        kept += [v if isinstance(v, bytes) else str(v).encode() for v in row]
            await engine.dispose()
        return b"\n".join(kept)
