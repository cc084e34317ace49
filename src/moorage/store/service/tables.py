"""The tables of the service, as the newest migration leaves them. Holds no logic.

A row's fields stand in columns where the database has to find, compare or refuse by them; the rest is JSON in
``record``. Sessions refer to executors, profiles and tasks by id without a foreign key: those of the command
line have ids of things that are in no table.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Double, ForeignKey, Index, LargeBinary, Table, Text

from moorage.store.tables import metadata

_COUNTER = BigInteger().with_variant(sa.Integer, "sqlite")


def _kept() -> tuple[Column[float], Column[float], Column[int], Column[str]]:
    return (
        Column("created_at", Double, nullable=False),
        Column("updated_at", Double, nullable=False),
        Column("version", BigInteger, nullable=False),
        Column("record", Text, nullable=False),
    )


executors = Table(
    "executors",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    *_kept(),
)

profiles = Table(
    "profiles",
    metadata,
    Column("id", Text, primary_key=True),
    Column("executor_id", Text, ForeignKey("executors.id"), nullable=False),
    Column("name", Text, nullable=False),
    *_kept(),
    sa.UniqueConstraint("executor_id", "name"),
)

policies = Table("policies", metadata, Column("id", Text, primary_key=True), *_kept())

# ``password_hash`` is argon2's, "" for none. ``issuer`` and ``subject`` are of an OIDC provider, "" for none.
users = Table(
    "users",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("disabled", Boolean, nullable=False),
    Column("password_hash", Text, nullable=False, server_default=""),
    *_kept(),
)

# The migration tells PostgreSQL too; said here, it would load that dialect in every process.
Index(
    "users_subject",
    users.c.issuer,
    users.c.subject,
    unique=True,
    sqlite_where=sa.text("issuer <> ''"),
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_id", Text, ForeignKey("users.id"), nullable=False),
    *_kept(),
)

Index("tasks_owner", tasks.c.owner_id)

# ``digest``: SHA-256 of the value; null for a row that nobody can sign in with.
tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("digest", LargeBinary, nullable=True, unique=True),
    Column("expires_at", Double, nullable=False),
    Column("last_used_at", Double, nullable=False),
    *_kept(),
    sa.UniqueConstraint("user_id", "name"),
)

sign_ins = Table(
    "sign_ins",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("user_id", Text, ForeignKey("users.id"), nullable=False),
    Column("csrf", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
)

links = Table(
    "sign_in_links",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("user_id", Text, ForeignKey("users.id"), nullable=False),
    Column("expires_at", Double, nullable=False),
)

# ``key`` is the SHA-256 of a name or address: people type passwords where their name belongs.
failures = Table(
    "sign_in_failures",
    metadata,
    Column("id", _COUNTER, primary_key=True, autoincrement=True),
    Column("key", LargeBinary, nullable=False),
    Column("at", Double, nullable=False),
)

Index("sign_in_failures_key", failures.c.key, failures.c.at)

audit = Table(
    "audit",
    metadata,
    Column("id", _COUNTER, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("actor", Text, nullable=False),
    Column("via", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("status", BigInteger, nullable=False),
    Column("detail", Text, nullable=False),
)

# ``sealed``: the answer's body, encrypted, because one may show a token for the only time; null until then.
answers = Table(
    "answers",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request", LargeBinary, nullable=False),
    Column("status", BigInteger, nullable=False),
    Column("sealed", LargeBinary, nullable=True),
    Column("at", Double, nullable=False),
)

Index("answers_at", answers.c.at)
