"""What happens between an agent's first byte and the end of ``run`` or ``attach``.

Turns how a following ended into messages and an exit code; removes the session where ``--rm`` asked, and
says that it stays only where it does.
"""

from __future__ import annotations

import asyncio
import signal

from moorage.cli.advice import say_kept, say_left
from moorage.cli.command import Call
from moorage.cli.failures import INTERRUPTED, OWN_FAILURE
from moorage.cli.follow import Ending, Follower, Manner
from moorage.cli.launching import Asked
from moorage.cli.shapes import shell_code
from moorage.cli.terminal import OutputClosed
from moorage.core.diagnosis import start_failure
from moorage.core.errors import MoorageError, Unreachable, WaitTimeout
from moorage.core.session import AgentExit
from moorage.ports.sessions import Report, SessionVerbs


async def follow_launched(call: Call, sessions: SessionVerbs, name: str, report: Report, asked: Asked) -> int:
    """Follow a session just launched, as ``run``'s flags say."""
    terminal = call.terminal
    stdin = "forward" if asked.interactive and not asked.detach else "leave"
    raw = asked.interactive and asked.tty and terminal.stdin_tty and not asked.detach
    manner = Manner(
        stdin=stdin,
        raw=raw,
        may_signal=not asked.wait,
        until_started=asked.detach and not asked.wait,
        mute=asked.wait,
        limit=asked.timeout,
    )
    try:
        ending = await follow(call, sessions, name, report, manner)
    except Exception as error:
        if isinstance(error, MoorageError) and error.details.get("state") == "removed":
            raise
        known = error if isinstance(error, MoorageError) else None
        if not asked.remove or isinstance(error, Unreachable):
            say_kept(call, name, known)
        else:
            terminal.say(f"session {name} failed; removing it (--rm), then follows why")
            await _remove(call, sessions, name, report)
        raise
    given_up = ending.how in ("interrupted", "signalled", "overtime") and not ending.agent_started
    if not ending.kept:
        terminal.note(f"session {name} was removed meanwhile")
    elif asked.remove and (ending.how == "exited" or given_up):
        if given_up:
            terminal.say(f"session {name} given up before its agent ran; removing it (--rm)")
        await _remove(call, sessions, name, report)
    elif ending.how == "exited":
        terminal.note(f"session {name} is kept: moorage resume {name}, or moorage rm {name}")
    elif left(ending):
        say_left(call, name, agent_started=ending.agent_started, unremoved=asked.remove)
    return exit_code_of(call, name, ending)


async def _remove(call: Call, sessions: SessionVerbs, name: str, report: Report) -> None:
    """What ``--rm`` asked for. Cut short, it says so: the wish is on record, and rm goes on."""
    try:
        await sessions.remove(name, report)
    except (MoorageError, asyncio.CancelledError):
        call.terminal.say(f"session {name} is not removed yet; to go on: moorage rm {name}")
        raise


def left(ending: Ending) -> bool:
    """Did somebody go while the session stays?"""
    return ending.how in ("detached", "interrupted", "signalled", "overtime", "closed")


async def follow(
    call: Call,
    sessions: SessionVerbs,
    name: str,
    report: Report,
    manner: Manner,
    *,
    from_start: bool = False,
) -> Ending:
    """Follow ``name`` until its agent exits or somebody leaves; lets go of it in any case."""
    attachment = sessions.attach(name, from_start=from_start, watching=manner.mute)
    try:
        ending = await Follower(attachment, call.terminal, report, manner).follow()
    finally:
        await attachment.close()
    if ending.how == "exited" and ending.exit is not None:
        _say_exit(call, ending.exit)
    return ending


def exit_code_of(call: Call, name: str, ending: Ending) -> int:
    """The exit code for how a following ended. Raises OutputClosed for a reader that went away."""
    if ending.how in ("started", "detached"):
        return 0
    if ending.how == "exited" and ending.exit is not None:
        code = shell_code(ending.exit)
        return OWN_FAILURE if code is None else code
    if ending.how == "interrupted":
        return INTERRUPTED
    if ending.how == "overtime":
        return WaitTimeout.exit_code
    if ending.how == "signalled":
        return 128 + ending.number
    if ending.how == "closed":
        raise OutputClosed
    call.terminal.say(f"error: the output of {name} ended, but nothing told how the agent did")
    call.terminal.say(f"  hint: moorage describe {name}")
    return OWN_FAILURE


def _say_exit(call: Call, exit: AgentExit) -> None:
    if exit.error:
        why, hint = start_failure(exit.error)
        call.terminal.say(f"error: the command could not be started: {why}")
        call.terminal.say(f"  hint: {hint}")
    elif exit.signal is not None:
        try:
            word = signal.Signals(exit.signal).name
        except ValueError:
            word = f"signal {exit.signal}"
        why = " (out of memory)" if exit.oom else ""
        call.terminal.note(f"the agent was ended by {word}{why}")
    elif exit.code is None:
        call.terminal.say("error: the agent ended, but its exit status is unknown")
    elif exit.oom:
        call.terminal.note("a process of the agent was killed for lack of memory")
