"""What an agent's own end tells beyond its exit code. Called by ``sessions`` when a run ends."""

from __future__ import annotations

from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.session import AgentExit, Diagnosis

_KILLED = 9


def diagnose_agent_exit(exit_: AgentExit) -> Diagnosis | None:
    """None for an ordinary exit, whatever its code. ``exit_.oom``: agentctl saw the kernel kill a process of
    the agent's group for memory while the container lived on."""
    if exit_.oom and (exit_.signal == _KILLED or exit_.code == 128 + _KILLED):
        return diagnosis(
            "oom", "AgentOOMKilled", "the agent was killed: the container reached its memory limit"
        )
    if exit_.oom:
        message = "a child of the agent was killed: the container reached its memory limit"
        return diagnosis("oom", "ChildOOMKilled", message)
    if exit_.error:
        category = "noexec" if "permission denied" in exit_.error.lower() else "crash"
        hint = "check the command after --, and that the image holds it"
        return diagnosis(
            category, "AgentNotStarted", f"the agent could not be started: {exit_.error}", hint=hint
        )
    return None
