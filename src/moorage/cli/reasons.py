"""Why a session has its status, in few words: the same in ``ls``, ``describe`` and JSON. Pure."""

from __future__ import annotations

from moorage.cli.text import signal_name
from moorage.core.diagnosis import start_failure
from moorage.core.session import AgentExit, Phase
from moorage.ports.sessions import SessionView


def why(view: SessionView) -> str:
    """In few words why a session has its status: what could not be seen, a diagnosis, how the agent ended."""
    session = view.session
    if view.unknown:
        return view.unknown
    if session.state.phase is Phase.ARCHIVED:
        return "archived"
    ended = session.run.exit if session.run else None
    if view.diagnosis is not None and not (ended and view.word in ("Stopped", "Paused")):
        category, reason = view.diagnosis.category, view.diagnosis.reason
        return f"{category}: {reason}" if reason and reason != category else category
    if ended is not None and view.word in ("Stopped", "Paused"):
        return _ending(ended)
    return view.reason


def _ending(exit: AgentExit) -> str:
    """``exited 3``, ``killed by SIGKILL (out of memory)``."""
    memory = " (out of memory)" if exit.oom else ""
    if exit.error:
        return f"not started: {start_failure(exit.error)[0]}"
    if exit.signal is not None:
        return f"killed by {signal_name(exit.signal)}{memory}"
    return "exit status unknown" if exit.code is None else f"exited {exit.code}{memory}"
