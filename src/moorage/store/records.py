"""Session records to rows and back. Used by ``store.sessions``; pure, touches no database.

State and intent are columns of their own, so the JSON of the rest leaves them out: each stands once.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from moorage.core.errors import StoreError, UsageError
from moorage.core.session import (
    AgentSpec,
    Desired,
    HelperSpec,
    Identity,
    Intent,
    Inventory,
    LaunchSnapshot,
    Phase,
    Session,
    State,
    WorkspaceMode,
    WorkspaceSpec,
    change,
)

Row = sa.Row[Any]
T = TypeVar("T", bound=msgspec.Struct)

_SHOWN = ("run", "restarts", "source", "agent")


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
            "executor_id": session.identity.executor_id,
            "profile_id": session.identity.profile_id,
            "task_id": session.identity.task_id,
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
            hint="a newer Moorage may have written it; nothing of that session is touched. "
            f"How to get rid of it: moorage rm {row.name}",
        ) from problem


def looks_the_same(before: Any, after: dict[str, Any]) -> bool:
    """Whether people who look at a session see no difference between two of its rows: the end of its output
    and what belongs to the cluster alone are not shown live."""
    if (before.name, before.state) != (after["name"], after["state"]):
        return False
    if before.record == after["record"]:
        return True
    old, new = _loaded(before.record), _loaded(after["record"])
    return all(old.get(field) == new.get(field) for field in _SHOWN)


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


def rescued(row: Row) -> Session:
    """What can still be read of a row that ``to_session`` refuses, field by field; the rest is empty."""
    known = {str(phase) for phase in Phase}
    phase = Phase(row.phase) if row.phase in known else Phase.CONFIGURED
    snapshot = LaunchSnapshot({}, "", "", WorkspaceSpec(WorkspaceMode.MANAGED_PVC), HelperSpec())
    nothing = Session(
        identity=Identity("", "", "", "", row.id),
        name=row.name,
        created_at=row.created_at,
        agent=AgentSpec(argv=()),
        state=State(phase, row.created_at),
        inventory=Inventory("", "", "", "", "", "", snapshot, "", "", ""),
        intent=Intent(Desired.RUNNING),
    )
    parts = {"state": _loaded(row.state), "intent": _loaded(row.intent)}
    found = _fields_of({**_loaded(row.record), **parts}, nothing)
    identity = change(found.identity, session_id=row.id)
    session: Session = change(found, identity=identity, name=row.name, created_at=row.created_at)
    return session


def _fields_of(value: object, empty: T) -> T:
    """``empty`` with every field that ``value`` holds in the right form; records in it likewise."""
    if not isinstance(value, dict):
        return empty
    found: dict[str, Any] = {}
    for known in msgspec.structs.fields(empty):
        if known.name not in value:
            continue
        try:
            found[known.name] = msgspec.convert(value[known.name], known.type)
        except msgspec.ValidationError:
            inner = getattr(empty, known.name)
            if isinstance(inner, msgspec.Struct):
                found[known.name] = _fields_of(value[known.name], inner)
    return msgspec.structs.replace(empty, **found)


def _loaded(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _parsed(rest: str, state: str, intent: str) -> Session:
    record = msgspec.json.decode(rest)
    record["state"] = msgspec.json.decode(state)
    record["intent"] = msgspec.json.decode(intent)
    return msgspec.convert(record, Session)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
