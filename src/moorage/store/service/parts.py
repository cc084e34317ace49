"""Puts the service's parts together over one open database. Made by ``SqlStore.service``."""

from __future__ import annotations

from moorage.core.service.records import Executor, Policy, Profile, Task, Token, User
from moorage.ports import service as ports
from moorage.store.database import Database
from moorage.store.ledger import Ledger
from moorage.store.secrets import SqlSecrets
from moorage.store.service import kinds, uses
from moorage.store.service.answers import SqlAnswers
from moorage.store.service.audit import SqlAudit
from moorage.store.service.changes import SqlChanges
from moorage.store.service.inventory import SqlInventory
from moorage.store.service.people import SqlPeople
from moorage.store.service.rows import SqlRows


class SqlService:
    """Implements ``ports.service.ServiceStore``."""

    def __init__(self, database: Database, ledger: Ledger, secrets: SqlSecrets):
        self.executors: ports.Rows[Executor] = SqlRows(database, ledger, kinds.EXECUTORS, uses.executor)
        self.profiles: ports.Rows[Profile] = SqlRows(database, ledger, kinds.PROFILES, uses.profile)
        self.policies: ports.Rows[Policy] = SqlRows(database, ledger, kinds.POLICIES)
        self.tasks: ports.Rows[Task] = SqlRows(database, ledger, kinds.TASKS, uses.task)
        self.users: ports.Rows[User] = SqlRows(database, ledger, kinds.USERS, uses.user)
        tokens: SqlRows[Token] = SqlRows(database, ledger, kinds.TOKENS)
        self.tokens: ports.Rows[Token] = tokens
        self.people: ports.People = SqlPeople(database, tokens)
        self.audit: ports.Audit = SqlAudit(database)
        self._changes = SqlChanges(database, ledger)
        self.changes: ports.Changes = self._changes
        self.idempotency: ports.Idempotency = SqlAnswers(database, secrets)
        self.inventory: ports.InventoryIndex = SqlInventory(database)

    async def close(self) -> None:
        """End what looks for changes. The database is closed by the store."""
        await self._changes.close()
