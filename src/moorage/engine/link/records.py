"""The link's JSON as the types of ``ports.link``, both ways. Used by ``engine.link.client`` only."""

from __future__ import annotations

from typing import Any

from moorage.ports.link import Activity, AgentStatus, ContainerUsage, ExitStatus, FileEntry, ProcessSpec


def spec(process: ProcessSpec) -> dict[str, Any]:
    """A process to start."""
    return {
        "argv": list(process.argv),
        "env": dict(process.env),
        "cwd": process.cwd,
        "tty": process.tty,
        "cols": process.cols,
        "rows": process.rows,
    }


def exit_status(said: dict[str, Any]) -> ExitStatus:
    """How a process ended; what was not said is unknown."""
    return ExitStatus(said.get("code"), said.get("signal"), bool(said.get("oom")), said.get("error") or "")


def agent_status(said: dict[str, Any]) -> AgentStatus:
    """The agent as agentctl sees it."""
    ended = said.get("exit")
    return AgentStatus(
        state=said["state"],
        pid=said["pid"],
        started_at=said["started_at"],
        exit=None if ended is None else exit_status(ended),
        oldest=said["oldest"],
        end=said["end"],
        start_id=said["start_id"],
    )


def file_entry(said: dict[str, Any]) -> FileEntry:
    """One line of a listing."""
    return FileEntry(said["path"], said["kind"], said["size"], said["mode"], said["mtime"])


def activity(said: dict[str, Any]) -> Activity:
    """What idleness is judged from."""
    return Activity(said["busy"], said["last_input"], said["last_output"], said["children"])


def usage(said: dict[str, Any]) -> ContainerUsage:
    """What the container uses."""
    return ContainerUsage(said["memory_bytes"], said["memory_limit"], said["cpu_micros"], said["oom_kills"])
