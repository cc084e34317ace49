"""The question before something is destroyed: which objects go, which stay.

Used by rm, archive and down. Off a terminal, or with --no-input, nothing is asked: the command to run is
told.
"""

from __future__ import annotations

from collections.abc import Sequence

from moorage.cli.command import Call
from moorage.cli.failures import Declined
from moorage.cli.streams import stdin_reader
from moorage.cli.text import plain, shell_line
from moorage.core.errors import UsageError
from moorage.ports.sessions import Removal


def removal_lines(plan: Removal) -> list[str]:
    """One session's objects that go and stay, a line each."""
    lines = [f"session {plain(plan.session)}"]
    lines += [f"  deletes  {plain(item)}" for item in plan.deletes]
    lines += [f"  keeps    {plain(item)}" for item in plan.keeps]
    if not plan.deletes:
        lines.append("  deletes  nothing in the cluster")
    return lines


async def confirm_removal(call: Call, verb: str, plans: Sequence[Removal], words: Sequence[str]) -> None:
    """Ask, and raise Declined on anything but yes. Raises UsageError where nobody can be asked."""
    count = "this session" if len(plans) == 1 else f"these {len(plans)} sessions"
    lines = [line for plan in plans for line in removal_lines(plan)]
    await confirm(call, verb, lines, f"{verb} {count}?", words, declined="nothing was removed")


async def confirm(
    call: Call,
    verb: str,
    lines: Sequence[str],
    question: str,
    words: Sequence[str],
    *,
    declined: str = "nothing was ended",
) -> None:
    """Say ``lines``, ask; raises as ``confirm_removal``. ``words``: what the verb was given."""
    for line in lines:
        call.terminal.say(line)
    if not call.terminal.can_ask:
        raise UsageError(
            f"{verb} needs a confirmation, and nobody can be asked here",
            hint=f"to do it, run: {shell_line(['moorage', *context_words(call), verb, *words, '-y'])}",
        )
    if not await _ask(call, question):
        raise Declined(declined)


async def _ask(call: Call, question: str) -> bool:
    """Yes or no; anything but y or yes is no. Read in the event loop, so that Ctrl-C ends the wait."""
    call.terminal.prompt(f"{question} [y/N] ")
    answer = await stdin_reader().read()
    return answer.strip().lower() in (b"y", b"yes")


def context_words(call: Call) -> list[str]:
    """The global flags that a command told to a person must repeat to mean the same place."""
    options = call.options
    flags = {
        "--context": options.context,
        "--kubeconfig": options.kubeconfig,
        "--namespace": options.namespace,
        "--as": options.act_as,
        "--data-dir": options.data_dir,
    }
    return [word for flag, value in flags.items() if value for word in (flag, value)]
