"""What an agent's own end tells beyond its exit code. Called by ``sessions`` when a run ends."""

from __future__ import annotations

from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.session import AgentExit, Diagnosis

_KILLED = 9
_DIRECTORY = "working directory "
"""How agentctl begins what it says of a bad working directory."""


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
        why, hint = start_failure(exit_.error)
        program = not why.startswith(_DIRECTORY)
        category = "noexec" if program and "permission denied" in why.lower() else "crash"
        return diagnosis(category, "AgentNotStarted", f"the agent could not be started: {why}", hint=hint)
    return None


def start_failure(error: str) -> tuple[str, str]:
    """(why, hint) for people of an ``ExitStatus.error``: its code word is left out."""
    why = error
    for word in ("not_found: ", "not_executable: "):
        why = why.removeprefix(word)
    if why.startswith(_DIRECTORY):
        return why, "give --cwd a directory of the image, or one of the source below /workspace"
    return why, "check the command after --, and that the image holds it"
