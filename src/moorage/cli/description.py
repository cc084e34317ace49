"""The text of ``describe``: identity, status, Pod, workspace, agent, events, next commands. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from moorage.cli.reasons import why
from moorage.cli.shapes import moment
from moorage.cli.text import plain, shell_line
from moorage.core.session import FORKED, AgentExit, Desired, Phase, SourceSpec
from moorage.core.status import removal_asked
from moorage.ports.sessions import SessionView
from moorage.ports.store import SessionEvent

_NEXT: Final = {
    "Starting": ("attach {name}", "events {name}"),
    "Running": ("attach {name}", "logs {name} -f", "stop {name}"),
    "Paused": ("resume {name}", "logs {name}", "rm {name}"),
    "Stopped": ("resume {name}", "pause {name}", "rm {name}"),
    "Stopping": ("events {name}", "logs {name}"),
    "Unhealthy": ("events {name}", "logs {name}", "reset {name}"),
    "Failed": ("events {name}", "resume {name}", "rm {name}"),
    "Unknown": ("doctor", "events {name}"),
}


def description(view: SessionView, events: Sequence[SessionEvent]) -> str:
    """Lines for a person; values from the cluster are made plain."""
    sections = [
        ("", _identity(view)),
        ("Pod", _pod(view)),
        ("Workspace", _workspace(view)),
        ("Agent", _agent(view)),
    ]
    lines: list[str] = []
    for title, pairs in sections:
        indent = ""
        if title:
            lines.append(f"{title}:")
            indent = "  "
        lines += [f"{indent}{key + ':':<{16 - len(indent)}}{plain(value)}" for key, value in pairs if value]
    lines.append("Events:")
    lines += [f"  {_event(event)}" for event in events] or ["  none"]
    lines.append("Next:")
    lines += [f"  moorage {command}" for command in next_commands(view)]
    return "".join(f"{line}\n" for line in lines)


def _event(event: SessionEvent) -> str:
    parts = (moment(event.at) or "-", event.object, event.kind, event.message)
    return "  ".join(plain(part) for part in parts if part)


def next_commands(view: SessionView) -> list[str]:
    """What makes sense for a session in this state, without the program's name."""
    name = view.session.name
    if removal_asked(view.session):
        verb = "archive" if view.session.intent.desired is Desired.ARCHIVED else "rm"
        return [f"{verb} {name}", f"resume {name}"]
    if view.session.state.phase is Phase.ARCHIVED:
        return [f"logs {name}", f"rm {name}"]
    if view.session.state.phase is Phase.LOST:
        return [f"logs {name}", f"events {name}", f"rm {name}"]
    return [command.format(name=name) for command in _NEXT.get(view.word, _NEXT["Unknown"])]


def _identity(view: SessionView) -> list[tuple[str, str]]:
    session = view.session
    pairs = [
        ("Name", session.name),
        ("Id", session.id),
        ("Status", view.word),
        ("Reason", why(view)),
        ("Context", view.context),
        ("Created", moment(session.created_at) or ""),
        ("Observed", moment(view.observed_at) or "never"),
    ]
    if view.diagnosis is not None:
        pairs += [
            ("Diagnosis", f"{view.diagnosis.category}: {view.diagnosis.message}"),
            ("Hint", view.diagnosis.hint),
        ]
    return pairs


def _pod(view: SessionView) -> list[tuple[str, str]]:
    owned = view.session.inventory
    return [
        ("Name", owned.pod_name),
        ("Namespace", owned.namespace),
        ("UID", owned.pod_uid),
        ("Phase", view.pod_phase),
        ("Container", view.container_state),
        ("Restarts", str(view.restarts) if view.observed_at else "unknown"),
        ("Node", view.node),
        ("Image", view.image),
        ("Platform", owned.snapshot.platform),
        ("Helper", owned.snapshot.helper.source),
    ]


def _workspace(view: SessionView) -> list[tuple[str, str]]:
    owned = view.session.inventory
    spec = owned.snapshot.workspace
    source = view.session.source
    origin = "created by Moorage" if owned.claim_created_by_us else "never deleted by Moorage"
    return [
        ("Mode", spec.mode.value),
        ("Claim", f"{owned.claim_name} ({origin})" if owned.claim_name else ""),
        ("Size", spec.size),
        ("StorageClass", spec.storage_class),
        ("Source", _origin(source) if source else ""),
        ("Commit", source.commit if source else ""),
    ]


def _origin(source: SourceSpec) -> str:
    if source.kind != FORKED:
        return source.location
    return f"{source.method} of the workspace of session {source.location}"


def _agent(view: SessionView) -> list[tuple[str, str]]:
    agent, run = view.session.agent, view.session.run
    return [
        ("Preset", agent.preset),
        ("Command", shell_line(agent.argv)),
        ("Resumed as", shell_line(agent.resume_argv)),
        ("Directory", agent.cwd),
        ("Variables", ", ".join(agent.env_names)),
        ("Started", (moment(run.started_at) or "") if run else ""),
        ("Exit", exit_text(run.exit) if run and run.exit else ""),
    ]


def exit_text(exit: AgentExit) -> str:
    """``code 0``, ``signal 9 (out of memory)``, ``unknown``."""
    if exit.error:
        return exit.error
    memory = " (out of memory)" if exit.oom else ""
    if exit.signal is not None:
        return f"signal {exit.signal}{memory}"
    return "unknown" if exit.code is None else f"code {exit.code}{memory}"
