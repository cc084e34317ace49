"""What to say of a session that a command lets go of, and which commands go on with it. Called by ``run`` and
``attach``. Says only what makes sense in the session's state; decides nothing.
"""

from __future__ import annotations

from moorage.cli.command import Call
from moorage.cli.description import exit_text
from moorage.core.errors import MoorageError, SessionFailed, Unreachable, WorkspaceLost
from moorage.core.session import Phase
from moorage.ports.sessions import SessionView
from moorage.ports.store import RECORD_GONE

FOLLOW = ("follow it", "attach")
OUTPUT = ("its output", "logs")
LOOK = ("look at it", "describe")
HISTORY = ("what happened", "events")
AGAIN = ("start it again", "resume")
END = ("end it", "stop")
REMOVE = ("remove it", "rm")

Commands = tuple[tuple[str, str], ...]


def say_left(call: Call, name: str, *, agent_started: bool, unremoved: bool = False) -> None:
    """We go, it stays. ``unremoved``: it was to be removed (``--rm``), and is not."""
    if agent_started:
        why = "; --rm does not remove it while it runs" if unremoved else ""
        _say(
            call, name, f"session {name} left running{why}", (FOLLOW, END, *((REMOVE,) if unremoved else ()))
        )
    else:
        _say(call, name, f"session {name} left as it is, not yet running", (FOLLOW, REMOVE))


def say_ended(call: Call, name: str, *, kept: bool) -> None:
    """Its agent ended under our eyes."""
    if kept:
        call.terminal.note(f"session {name} is kept: moorage resume {name}, or moorage rm {name}")
    else:
        call.terminal.note(f"session {name} was removed meanwhile")


def say_kept(call: Call, name: str, error: MoorageError | None) -> None:
    """Following ended by an error, which is told after this; None: by a fault of ours."""
    if error is not None and error.details.get("state") == RECORD_GONE:
        return  # no command of ours finds it any more; the error says which does
    commands: Commands = (LOOK, FOLLOW)
    if isinstance(error, Unreachable):
        commands = (("go on", "attach"), REMOVE)
    elif isinstance(error, WorkspaceLost):
        commands = (LOOK, HISTORY, OUTPUT, REMOVE)
    elif isinstance(error, SessionFailed) or (error is not None and error.code == "name_blocked"):
        commands = (LOOK, HISTORY, AGAIN, REMOVE)
    _say(call, name, f"session {name} is kept", commands)


def say_over(call: Call, view: SessionView) -> None:
    """Somebody attached to a session whose agent has long ended."""
    session, word = view.session, view.session.state.phase
    ended = f"its agent has ended ({exit_text(session.run.exit)})" if session.run and session.run.exit else ""
    if word is Phase.ARCHIVED:
        said, commands = f"session {session.name} is archived", (OUTPUT, REMOVE)
    elif session.state.pod == "released":
        said, commands = f"session {session.name} is paused", (OUTPUT, AGAIN)
    else:
        said, commands = f"session {session.name} is stopped", (OUTPUT, AGAIN)
    _say(call, session.name, f"{said}: {ended}" if ended else said, commands)


def _say(call: Call, name: str, said: str, commands: Commands) -> None:
    call.terminal.say(said)
    for what, verb in commands:
        call.terminal.say(f"  {what + ':':<15} moorage {verb} {name}")
