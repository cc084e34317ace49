"""Session records to rows and back. Used by ``store.sessions``; pure, touches no database.

State and intent are columns of their own, so the JSON of the rest leaves them out: each stands once.
"""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from moorage.core.errors import StoreError, UsageError
from moorage.core.session import AgentSpec, Intent, LaunchSnapshot, Phase, Session, State, change

Row = sa.Row[Any]


def to_row(session: Session) -> dict[str, Any]:
    """All columns but those of the intent. UsageError for text that is no Unicode, StoreError for values of
    types that could not be read again: a row that nobody can read must never be written."""
    try:
        record = msgspec.to_builtins(session)
        intent = record.pop("intent")
        state, rest = _json(record.pop("state")), _json(record)
        _parsed(rest, state, _json(intent))
        return {
            "id": session.id,
            "name": session.name,
            "phase": session.state.phase.value,
            "created_at": session.created_at,
            "state": state,
            "record": rest,
            "unsettled": sum(not nonce.settled for nonce in session.inventory.nonces),
        }
    except (msgspec.MsgspecError, TypeError, AttributeError, OverflowError) as problem:
        raise StoreError(f"what would be recorded of session {session.id} is malformed: {problem}") from None
    except UnicodeEncodeError as problem:
        raise UsageError(
            f"session {session.id} holds text that is not Unicode: {problem.reason}",
            hint="arguments and names must be valid UTF-8",
        ) from None


def intent_columns(intent: Intent) -> dict[str, Any]:
    return {"intent": _json(intent), "intent_number": intent.number}


def to_intent(text: str) -> Intent:
    return msgspec.json.decode(text, type=Intent)


def to_session(row: Row) -> Session:
    """StoreError when the row does not hold what this code can read."""
    try:
        return _parsed(row.record, row.state, row.intent)
    except (msgspec.MsgspecError, TypeError) as problem:
        raise StoreError(
            f"the stored record of session {row.id} cannot be read: {problem}",
            hint="nothing of that session is touched; a newer Moorage may have written it",
        ) from problem


def tombstone(session: Session, at: float) -> Session:
    """What is kept of a deleted session: its identity and, while a create of ours may still be carried
    out late, what it takes to recognise the object. Command, source and run are history and go."""
    inventory = session.inventory
    open_nonces = tuple(nonce for nonce in inventory.nonces if not nonce.settled)
    snapshot = inventory.snapshot
    if not open_nonces:
        snapshot = LaunchSnapshot(
            {}, snapshot.platform, snapshot.main_container, snapshot.workspace, snapshot.helper
        )
    deleted: Session = change(
        session,
        agent=AgentSpec(argv=()),
        state=State(Phase.DELETED, at),
        inventory=change(inventory, nonces=open_nonces, snapshot=snapshot),
        source=None,
        run=None,
        restarts=(),
    )
    return deleted


def _parsed(rest: str, state: str, intent: str) -> Session:
    record = msgspec.json.decode(rest)
    record["state"] = msgspec.json.decode(state)
    record["intent"] = msgspec.json.decode(intent)
    return msgspec.convert(record, Session)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
