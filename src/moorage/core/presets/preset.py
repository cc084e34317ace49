"""What a preset says. One TOML file each; the fields are explained in docs/presets.md.

Made by ``presets.parse``, used by ``presets.apply``, shown by ``moorage preset``. Data only.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

ARGS: Final = "{args}"
"""A word of an argv that stands for any number of words: what a person adds after ``--``."""
PROMPT: Final = "{prompt}"
"""Part of a word. Without a prompt the whole word is left out."""
STATE: Final = "{state}"
"""Part of a variable's value: the directory in the workspace that is the preset's own."""


class Delivery(StrEnum):
    """How a prompt gets to the agent. ``stdin``: it is all of the agent's input; ``typed``: into its
    terminal, with Enter, once the agent has spoken."""

    ARGUMENT = "argument"
    STDIN = "stdin"
    TYPED = "typed"


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the program is called. ``resume``: where it ran before in this workspace; the prompt is not said
    again, but ``resume_prompt`` is, the same way, where the program does not start without one."""

    prompt: Delivery
    argv: tuple[str, ...]
    resume: tuple[str, ...]
    resume_prompt: str = ""


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One agent. ``batch``: it works on a prompt and ends; ``terminal``: somebody may type. ``secrets``:
    variables of which one is usually enough. ``state``: variables that move what it keeps into the workspace.
    ``git_exclude``: patterns of what it leaves in a source tree, for ``.git/info/exclude``."""

    name: str
    title: str
    secrets: tuple[str, ...]
    batch: Way
    terminal: Way
    state: dict[str, str]
    prompt_required: bool = True
    git_exclude: tuple[str, ...] = ()
