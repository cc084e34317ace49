"""Sessions, leases, transcripts, events, secrets, settings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the first tables; explicit here, because a migration must not follow later code."""
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("intent", sa.Text, nullable=False),
        sa.Column("intent_number", sa.BigInteger, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("unsettled", sa.Integer, nullable=False),
    )
    live = sa.text("phase <> 'deleted'")
    op.create_index(
        "sessions_live_name", "sessions", ["name"], unique=True, sqlite_where=live, postgresql_where=live
    )
    op.create_table(
        "leases",
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.BigInteger, nullable=False),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
    )
    op.create_table(
        "transcripts",
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("end_offset", sa.BigInteger, nullable=False),
        sa.Column("held", sa.BigInteger, nullable=False),
        sa.Column("next_seq", sa.BigInteger, nullable=False),
        sa.Column("delivered", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "transcript_chunks",
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("start_offset", sa.BigInteger, nullable=False),
        sa.Column("end_offset", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=True),
    )
    op.create_index("transcript_chunks_end", "transcript_chunks", ["session_id", "end_offset"])
    op.create_table(
        "session_events",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True
        ),
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
    )
    op.create_index("session_events_session", "session_events", ["session_id", "id"])
    op.create_table(
        "secrets",
        sa.Column("ref", sa.Text, primary_key=True),
        sa.Column("key_id", sa.Text, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
