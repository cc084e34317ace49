"""From the schema before: nothing is lost, and whose a session is can be told, as far as it can be read."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from moorage.core.session import change
from moorage.store import migrate, open_store, records
from tests.store.samples import ELSEWHERE, a_session

OWN = ("executor_id", "profile_id", "task_id")


def at_first_schema(connection: sa.Connection) -> None:
    """Tables of schema 0001."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")


def first_schema_row(session_id: str, name: str, record: str | None = None) -> dict[str, object]:
    """A row as the code of schema 0001 wrote it."""
    session = a_session(session_id, name)
    row = records.to_row(session) | records.intent_columns(session.intent)
    kept = {column: value for column, value in row.items() if column not in OWN}
    return kept if record is None else kept | {"record": record}


def table_for(name: str, row: dict[str, object]) -> sa.TableClause:
    return sa.table(name, *(sa.column(column) for column in row))


async def test_sessions_of_the_schema_before_tell_whose_they_are_even_when_malformed(tmp_path: Path) -> None:
    whole = str(first_schema_row("s1", "x")["record"])
    records_before = {
        "s00000000001": None,
        "s00000000002": whole + "}",  # no JSON as a whole, but its identity can be found
        "s00000000003": "not JSON at all",
        "s00000000004": '{"identity": [1]}',
    }
    engine = sa.create_engine(f"sqlite:///{tmp_path}/moorage.db")
    with engine.begin() as connection:
        at_first_schema(connection)
        for session_id, record in records_before.items():
            row = first_schema_row(session_id, f"name-{session_id}", record)
            connection.execute(sa.insert(table_for("sessions", row)).values(row))
            lease: dict[str, object] = {
                "session_id": session_id,
                "fence": 0,
                "owner": "",
                "host": "",
                "pid": 0,
            }
            lease |= {"started": "", "expires_at": 0.0}
            connection.execute(sa.insert(table_for("leases", lease)).values(lease))
    engine.dispose()
    store = await open_store(tmp_path)
    index = store.service.inventory
    assert [row.session_id for row in await index.rows("exec")] == ["s00000000001", "s00000000002"]
    assert [row.readable for row in await index.rows("exec")] == [True, False]
    assert await index.active_count("exec") == 4
    assert await index.active_count("another") == 2, "of two nobody can tell that they are not its"
    assert (await store.sessions.get("s00000000001")).identity.executor_id == "exec"
    lease_now = await store.leases.acquire("s00000000001", ELSEWHERE)
    assert lease_now is not None
    read = await store.sessions.get("s00000000001")
    await store.sessions.save(change(read, output_end=3), lease_now)
    await store.close()
