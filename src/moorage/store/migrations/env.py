"""Run by Alembic inside ``store.migrate``'s transaction; never opens a database itself."""

from __future__ import annotations

from alembic import context

from moorage.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
