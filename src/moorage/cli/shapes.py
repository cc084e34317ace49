"""The JSON objects the command line prints: a stable public form, apart from our internal records.

Times are RFC 3339 in UTC, ``null`` where there is none; unknown numbers are ``null``, never 0.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from moorage.cli.reasons import why
from moorage.core.session import AgentExit, Diagnosis, Session
from moorage.core.workload import pod_labels
from moorage.ports.link import ExitStatus
from moorage.ports.sessions import Caller, Check, ConnectionTest, Removal, SessionView
from moorage.ports.store import SessionEvent


def moment(seconds: float) -> str | None:
    """Seconds since the epoch as ``2026-11-29T16:00:00Z``; None for 0."""
    if not seconds:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def deleted_object(name: str) -> dict[str, Any]:
    """A session that is no more."""
    return {"kind": "Session", "name": name, "status": "Deleted"}


def session_object(view: SessionView) -> dict[str, Any]:
    """A session as ``ls`` and ``describe`` print it."""
    session = view.session
    observed = bool(view.observed_at)
    return {
        "kind": "Session",
        "name": session.name,
        "id": session.id,
        "status": view.word,
        "reason": why(view),
        "phase": session.state.phase.value,
        "since": moment(session.state.since),
        "created_at": moment(session.created_at),
        "observed_at": moment(view.observed_at),
        "unknown": view.unknown,
        "diagnosis": diagnosis_object(view.diagnosis),
        "context": view.context,
        "labels": labels_of(session),
        "pod": {
            "name": session.inventory.pod_name,
            "uid": session.inventory.pod_uid,
            "namespace": session.inventory.namespace,
            "phase": view.pod_phase,
            "container": view.container_state,
            "restarts": view.restarts if observed else None,
            "node": view.node,
            "image": view.image,
        },
        "workspace": _workspace(session),
        "agent": _agent(session),
        "source": _source(session),
    }


def labels_of(session: Session) -> dict[str, str]:
    """The labels that the Pod of a session has, or would have: what ``-l`` selects by."""
    return pod_labels(session.identity, session.inventory.snapshot)


def _workspace(session: Session) -> dict[str, Any]:
    spec = session.inventory.snapshot.workspace
    return {
        "mode": spec.mode.value,
        "claim": session.inventory.claim_name,
        "claim_uid": session.inventory.claim_uid,
        "created_by_us": session.inventory.claim_created_by_us,
        "size": spec.size,
        "storage_class": spec.storage_class,
    }


def _agent(session: Session) -> dict[str, Any]:
    run = session.run
    return {
        "preset": session.agent.preset or None,
        "argv": list(session.agent.argv),
        "resume_argv": list(session.agent.resume_argv) or None,
        "cwd": session.agent.cwd,
        "tty": session.agent.tty,
        "env_names": list(session.agent.env_names),
        "started_at": moment(run.started_at) if run else None,
        "exit": exit_object(run.exit) if run else None,
    }


def _source(session: Session) -> dict[str, Any] | None:
    source = session.source
    if source is None:
        return None
    return {
        "kind": source.kind,
        "location": source.location,
        **({"method": source.method} if source.method else {}),
        "ref": source.ref,
        "commit": source.commit,
    }


def exit_object(exit: AgentExit | None) -> dict[str, Any] | None:
    """How an agent ended; ``code`` and ``signal`` both null: unknown."""
    if exit is None:
        return None
    return {"code": exit.code, "signal": exit.signal, "oom": exit.oom, "error": exit.error}


def diagnosis_object(diagnosis: Diagnosis | None) -> dict[str, Any] | None:
    if diagnosis is None:
        return None
    return {
        "category": diagnosis.category,
        "reason": diagnosis.reason,
        "message": diagnosis.message,
        "hint": diagnosis.hint,
        "terminal": diagnosis.terminal,
    }


def removal_object(removal: Removal) -> dict[str, Any]:
    return {
        "kind": "Removal",
        "name": removal.session,
        "deletes": list(removal.deletes),
        "keeps": list(removal.keeps),
    }


def caller_object(caller: Caller) -> dict[str, Any]:
    return {
        "kind": "Identity",
        "name": caller.user,
        "user": caller.user,
        "groups": list(caller.groups),
        "context": caller.context,
        "namespace": caller.namespace,
        "server": caller.server,
        "rights": [
            {"resource": one.resource, "verbs": list(one.verbs), "missing": list(one.missing)}
            for one in caller.rights
        ],
    }


def event_object(event: SessionEvent) -> dict[str, Any]:
    return {
        "kind": "Event",
        "name": event.kind,
        "at": moment(event.at),
        "object": event.object,
        "message": event.message,
    }


def connection_test_object(test: ConnectionTest) -> dict[str, Any]:
    """As ``POST kubernetes/test`` answers, with the kinds and names that our lists have."""
    return {
        "kind": "ConnectionTest",
        "name": test.namespace,
        "success": test.success,
        "server_version": test.server_version,
        "namespace": test.namespace,
        "steps": [_step_object(step) for step in test.steps],
        "warnings": list(test.warnings),
        "error": test.error,
    }


def _step_object(step: Check) -> dict[str, Any]:
    return {
        "kind": "Step",
        "name": step.key,
        "key": step.key,
        "status": step.status,
        "success": step.success,
        "duration_ms": step.duration_ms,
        "detail": step.detail,
        "fix": step.fix,
    }


def shell_code(exit: AgentExit) -> int | None:
    """The exit code a shell would give for an agent's end; None when it is unknown."""
    return ExitStatus(exit.code, exit.signal, exit.oom, exit.error).shell_code
