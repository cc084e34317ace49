"""The tables, as the newest migration leaves them. Used by every part of ``store``; holds no logic.

A session's state, intent and lease stand in columns of their own because they are written by different
parties: state and record by the lease holder, the intent by anybody, the lease by whoever takes it. Whose
session it is stands in columns too, "" where that could not be read: such a one counts for every executor.
Sizes are bytes, times are seconds since the epoch by the database's clock unless said otherwise.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

metadata = MetaData()

_COUNTER = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up by itself only for INTEGER

sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("state", Text, nullable=False),
    Column("intent", Text, nullable=False),
    Column("intent_number", BigInteger, nullable=False),
    Column("record", Text, nullable=False),
    Column("unsettled", Integer, nullable=False),
    Column("executor_id", Text, nullable=False, server_default=""),
    Column("profile_id", Text, nullable=False, server_default=""),
    Column("task_id", Text, nullable=False, server_default=""),
    Column("owner_id", Text, nullable=False, server_default=""),
)

# A name is free again once its session is deleted. The migration tells PostgreSQL too; said here, it would
# load that dialect in every process.
Index(
    "sessions_live_name",
    sessions.c.name,
    unique=True,
    sqlite_where=text("phase <> 'deleted'"),
)

Index("sessions_executor", sessions.c.executor_id)
Index("sessions_task", sessions.c.task_id)

# Never deleted, so that a fence number is never given out twice. ``owner`` is "" when nobody holds it.
leases = Table(
    "leases",
    metadata,
    Column("session_id", Text, ForeignKey("sessions.id"), primary_key=True),
    Column("fence", BigInteger, nullable=False),
    Column("owner", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("started", Text, nullable=False),
    Column("expires_at", Double, nullable=False),
)

# ``first``: the lowest offset still held; ``held``: bytes of output between it and ``end_offset``;
# ``delivered``: the offset up to which somebody who follows the agent was shown it.
transcripts = Table(
    "transcripts",
    metadata,
    Column("session_id", Text, ForeignKey("sessions.id"), primary_key=True),
    Column("first", BigInteger, nullable=False),
    Column("end_offset", BigInteger, nullable=False),
    Column("held", BigInteger, nullable=False),
    Column("next_seq", BigInteger, nullable=False),
    Column("delivered", BigInteger, nullable=False),
)

# A row without data is a gap; one of no width at all is a gap of unknown length.
chunks = Table(
    "transcript_chunks",
    metadata,
    Column("session_id", Text, ForeignKey("sessions.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("start_offset", BigInteger, nullable=False),
    Column("end_offset", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=True),
)

Index("transcript_chunks_end", chunks.c.session_id, chunks.c.end_offset)

events = Table(
    "session_events",
    metadata,
    Column("id", _COUNTER, primary_key=True, autoincrement=True),
    Column("session_id", Text, ForeignKey("sessions.id"), nullable=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("message", Text, nullable=False),
)

Index("session_events_session", events.c.session_id, events.c.id)

secrets = Table(
    "secrets",
    metadata,
    Column("ref", Text, primary_key=True),
    Column("key_id", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
)

settings = Table(
    "settings",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

# One row, ``revision``: the last number given to a change. Held by a transaction from then until its end.
counters = Table(
    "counters",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

changes = Table(
    "changes",
    metadata,
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("owner_id", Text, nullable=False),
    Column("op", Text, nullable=False),
)
