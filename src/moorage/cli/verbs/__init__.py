"""Every verb of the command line by name. The table is all that ``moorage --help`` needs: a verb's module
is imported when the verb is used."""

from __future__ import annotations

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """Where a verb lives and its one line of help. ``carries_command``: it passes on the exit code of a
    command, so that Moorage's own failures end with 125."""

    module: str
    summary: str
    section: str
    carries_command: bool = False


_SESSIONS = "Sessions"
_INSIDE = "Inside a session"
_OTHER = "Checks and shell"

VERBS: Final[dict[str, Entry]] = {
    "run": Entry("run", "Start an agent in a Pod of its own and follow it.", _SESSIONS, True),
    "ls": Entry("ls", "List sessions.", _SESSIONS),
    "describe": Entry("describe", "Show all that is known of one session.", _SESSIONS),
    "stop": Entry("stop", "End the agent; keep Pod and workspace.", _SESSIONS),
    "pause": Entry("pause", "End the agent and delete its Pod; keep the workspace.", _SESSIONS),
    "resume": Entry("resume", "Start the agent of a stopped or paused session again.", _SESSIONS),
    "reset": Entry("reset", "Put a session on a new Pod; keep the workspace.", _SESSIONS),
    "fork": Entry("fork", "Start new sessions on copies of a session's workspace.", _SESSIONS),
    "archive": Entry("archive", "Remove the cluster objects; keep output and history.", _SESSIONS),
    "rm": Entry("rm", "Remove cluster objects, output and history.", _SESSIONS),
    "wait": Entry("wait", "Wait until sessions are as they should be.", _SESSIONS),
    "attach": Entry("attach", "Follow a session's agent and type to it.", _INSIDE),
    "logs": Entry("logs", "Print the agent's output, or a container's log.", _INSIDE),
    "exec": Entry("exec", "Run a command beside the agent.", _INSIDE, True),
    "cp": Entry("cp", "Copy files into or out of a session.", _INSIDE),
    "changes": Entry("changes", "Show what a session has changed in its repository.", _INSIDE),
    "export": Entry("export", "Take a session's changes home, as a patch or a branch.", _INSIDE),
    "port-forward": Entry("port_forward", "Reach ports in a session from this machine.", _INSIDE),
    "events": Entry("events", "Show what happened to a session.", _INSIDE),
    "template": Entry("template", "Work with Pod templates.", _OTHER),
    "preset": Entry("preset", "Show the agents that run knows by name.", _OTHER),
    "context": Entry("context", "Choose the cluster.", _OTHER),
    "config": Entry("config", "Show and change settings.", _OTHER),
    "up": Entry("up", "Serve sessions to browsers and programs.", _OTHER),
    "down": Entry("down", "End the server and the embedded cluster; keep what is on record.", _OTHER),
    "doctor": Entry("doctor", "Check the cluster, rights and this machine.", _OTHER),
    "whoami": Entry("whoami", "Show who we are to the cluster, and what we may do.", _OTHER),
    "help": Entry("help", "Explain a verb.", _OTHER),
    "version": Entry("version", "Show versions of client, helper and server.", _OTHER),
    "completion": Entry("completion", "Print the completion script of a shell.", _OTHER),
}

ALIASES: Final = {"list": "ls", "info": "describe", "start": "resume"}
"""Words that mean one of the verbs. They are not listed; ``get`` and ``delete`` are kept for manifests."""

ELSEWHERE: Final = {
    "get": "`moorage ls` lists sessions",
    "ps": "`moorage ls` lists sessions",
    "delete": "`moorage rm NAME` removes a session",
    "kill": "`moorage stop --force NAME` ends the agent, `moorage rm NAME` removes the session",
}
"""What people type in other programs, and what it is here. Never done unasked: some of it destroys."""
