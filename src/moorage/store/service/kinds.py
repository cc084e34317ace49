"""What tells the kinds of rows apart: type, table, parent, name, whose they are. Used by ``rows``; pure data.

A struct's fields that have a column of their name stand there, the others in ``record`` as JSON: each
stands once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

import msgspec
import sqlalchemy as sa

from moorage.core.errors import StoreError, UsageError
from moorage.core.service.records import Executor, Policy, Profile, Row, Task, Token, User
from moorage.store.service import tables


def _everybody(_row: Any) -> str:
    return ""


@dataclass(frozen=True)
class Kind(Generic[Row]):
    """``parent``: the column that names it, of table ``parents``. ``named``: has a name of its own among its
    siblings. ``found_by_name``: ``get`` takes it too. ``owner``: whose a row is, "" everybody's."""

    word: str
    type: type[Row]
    table: sa.Table
    parent: str = ""
    parents: sa.Table | None = None
    named: bool = True
    found_by_name: bool = False
    owner: Callable[[Row], str] = _everybody

    def columns(self, row: Row) -> dict[str, Any]:
        """All but the times and the version. UsageError for text that no database takes."""
        try:
            fields = msgspec.to_builtins(row, builtin_types=(bytes,))
            kept = {name: fields.pop(name) for name in list(fields) if name in self.table.c}
            for name in ("created_at", "updated_at", "version"):
                kept.pop(name, None)
                fields.pop(name, None)
            texts = [text for text in kept.values() if isinstance(text, str)]
            record = msgspec.json.encode(fields).decode()
            "".join(texts).encode()
        except UnicodeEncodeError as problem:
            raise UsageError(f"this {self.word} holds text that is not Unicode: {problem.reason}") from None
        if any("\0" in text for text in texts):
            raise UsageError(f"this {self.word} holds a NUL character")
        return {**kept, "record": record}

    def row(self, stored: Any) -> Row:
        """StoreError when this code cannot read it."""
        columns = {
            name: getattr(stored, name) for name in self.type.__struct_fields__ if name in self.table.c
        }
        try:
            record = msgspec.json.decode(stored.record, type=dict[str, Any])
            return msgspec.convert({**record, **columns}, self.type)
        except msgspec.MsgspecError as problem:
            raise StoreError(
                f"the stored {self.word} {stored.id} cannot be read: {problem}",
                hint="a newer Moorage may have written it; nothing of it is changed",
            ) from None


EXECUTORS = Kind("executor", Executor, tables.executors, found_by_name=True)
PROFILES = Kind(
    "profile", Profile, tables.profiles, parent="executor_id", parents=tables.executors, found_by_name=True
)
POLICIES = Kind("policy", Policy, tables.policies, named=False)
USERS = Kind("user", User, tables.users, found_by_name=True)
TASKS = Kind(
    "task",
    Task,
    tables.tasks,
    parent="owner_id",
    parents=tables.users,
    named=False,
    owner=lambda task: task.owner_id,
)
TOKENS = Kind(
    "token",
    Token,
    tables.tokens,
    parent="user_id",
    parents=tables.users,
    owner=lambda token: token.user_id,
)
