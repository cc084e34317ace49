"""Executors, profiles, policies, tasks, people, audit, changes; whose a session is, in columns.

Only adds: a process of the version before, still running, goes on writing sessions.
"""

from __future__ import annotations

import json
import re
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COUNTER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_IDS = ("executor_id", "profile_id", "task_id")


def upgrade() -> None:
    _sessions()
    _rows()
    _people()
    _records()


def _text(name: str, **more: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, **more)


def _kept() -> list[sa.Column[Any]]:
    return [
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        _text("record"),
    ]


def _user(nullable: bool = False) -> sa.Column[str]:
    return sa.Column("user_id", sa.Text, sa.ForeignKey("users.id"), nullable=nullable)


def _sessions() -> None:
    for name in (*_IDS, "owner_id"):
        op.add_column("sessions", _text(name, server_default=""))
    op.create_index("sessions_executor", "sessions", ["executor_id"])
    op.create_index("sessions_task", "sessions", ["task_id"])
    columns = ("id", "record", *_IDS)
    sessions = sa.table("sessions", *(sa.column(name, sa.Text) for name in columns))
    connection = op.get_bind()
    for row in connection.execute(sa.select(sessions.c.id, sessions.c.record)).all():
        ids = {name: _found(row.record, name) for name in _IDS}
        connection.execute(sa.update(sessions).where(sessions.c.id == row.id).values(ids))


def _found(record: str, name: str) -> str:
    """Of a record's identity; also of one that is no longer JSON as a whole. "" where it is not there."""
    try:
        value = json.loads(record)["identity"][name]
    except (ValueError, KeyError, TypeError, RecursionError):
        match = re.search(rf'"identity":{{[^{{}}]*"{name}":"([^"\\]*)"', record)
        value = match[1] if match else ""
    return value if isinstance(value, str) else ""


def _rows() -> None:
    op.create_table(
        "executors", sa.Column("id", sa.Text, primary_key=True), _text("name", unique=True), *_kept()
    )
    op.create_table(
        "profiles",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("executor_id", sa.Text, sa.ForeignKey("executors.id"), nullable=False),
        _text("name"),
        *_kept(),
        sa.UniqueConstraint("executor_id", "name"),
    )
    op.create_table("policies", sa.Column("id", sa.Text, primary_key=True), *_kept())


def _people() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Text, primary_key=True),
        _text("name", unique=True),
        _text("role"),
        _text("issuer"),
        _text("subject"),
        sa.Column("disabled", sa.Boolean, nullable=False),
        _text("password_hash", server_default=""),
        *_kept(),
    )
    known = sa.text("issuer <> ''")
    op.create_index(
        "users_subject",
        "users",
        ["issuer", "subject"],
        unique=True,
        sqlite_where=known,
        postgresql_where=known,
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("owner_id", sa.Text, sa.ForeignKey("users.id"), nullable=False),
        *_kept(),
    )
    op.create_index("tasks_owner", "tasks", ["owner_id"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text, primary_key=True),
        _user(),
        _text("name"),
        sa.Column("digest", sa.LargeBinary, nullable=True, unique=True),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("last_used_at", sa.Double, nullable=False),
        *_kept(),
        sa.UniqueConstraint("user_id", "name"),
    )
    op.create_table(
        "sign_ins",
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        _text("id", unique=True),
        _user(),
        _text("csrf"),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
    )
    op.create_table(
        "sign_in_links",
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        _user(),
        sa.Column("expires_at", sa.Double, nullable=False),
    )
    op.create_table(
        "sign_in_failures",
        sa.Column("id", _COUNTER, primary_key=True, autoincrement=True),
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("sign_in_failures_key", "sign_in_failures", ["key", "at"])


def _records() -> None:
    op.create_table(
        "audit",
        sa.Column("id", _COUNTER, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Double, nullable=False),
        *(_text(name) for name in ("actor", "via", "action", "target", "outcome")),
        sa.Column("status", sa.BigInteger, nullable=False),
        _text("detail"),
    )
    op.create_table(
        "answers",
        sa.Column("user_id", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("request", sa.LargeBinary, nullable=False),
        sa.Column("status", sa.BigInteger, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=True),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("answers_at", "answers", ["at"])
    counters = op.create_table(
        "counters",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(counters, [{"name": "revision", "value": 0}])
    op.create_table(
        "changes",
        sa.Column("revision", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        *(_text(name) for name in ("kind", "id", "owner_id", "op")),
    )
