"""Completion for bash, zsh and fish: the scripts, and the answers they ask the program for.

``verbs.completion`` prints a script; ``cli.app`` calls ``complete`` when a shell asks for words. What is
offered for a value is in ``cli.suggesting``. Completion opens no cluster.
"""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from moorage.cli.command import State
from moorage.core.errors import UsageError

PROGRAM: Final = "moorage"
VARIABLE: Final = "_MOORAGE_COMPLETE"

_SHELLS: Final[dict[str, type[ShellComplete]]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}
SHELLS: Final = tuple(_SHELLS)

INSTALL: Final = {
    "bash": 'eval "$(moorage completion bash)"',
    "zsh": 'eval "$(moorage completion zsh)"',
    "fish": "moorage completion fish > ~/.config/fish/completions/moorage.fish",
}
"""What a person types, or keeps in the shell's own file."""


def script(shell: str) -> str:
    """The script to source in ``shell``. Raises UsageError for a shell that is none of ours."""
    if shell not in _SHELLS:
        raise UsageError(f"there is no completion for {shell!r}", hint=f"use one of: {', '.join(SHELLS)}")
    maker = _SHELLS[shell](click.Group(PROGRAM), {}, PROGRAM, VARIABLE)
    # The template is filled here: source() would start a shell to ask for its version.
    return maker.source_template % maker.source_vars() + "\n"


def complete(state: State, root: click.Command, instruction: str) -> int:
    """Answer a shell: ``instruction`` is ``SHELL_complete`` (words) or ``SHELL_source`` (the script)."""
    shell, _, what = instruction.partition("_")
    if what == "source":
        state.terminal.data(script(shell))
        return 0
    if shell not in _SHELLS or what != "complete":
        return 1
    answer = _SHELLS[shell](root, {"obj": state}, PROGRAM, VARIABLE).complete()
    state.terminal.data(answer + "\n")
    return 0
