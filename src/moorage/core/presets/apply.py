"""A preset and a person's wish, made into what a session is recorded with.

Called by whoever makes a launch request: the command line, later profiles and the service. Decides no more
than words and variables; nothing is read from the caller's environment here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from moorage.core.errors import UsageError
from moorage.core.owned import STATE_FOLDER, WORKSPACE_PATH
from moorage.core.presets.preset import ARGS, PROMPT, STATE, Delivery, Preset, Way

ENTER = "\r"


@dataclass(frozen=True)
class Applied:
    """``argv`` and ``input`` of the first start, and of each later one. ``input``: see
    ``ports.link.ProcessSpec``. ``env`` holds no secrets. ``state_dirs``: names in ``owned.STATE_FOLDER`` that
    must be there before a start."""

    preset: str
    argv: tuple[str, ...]
    resume_argv: tuple[str, ...]
    input: str = ""
    resume_input: str = ""
    env: dict[str, str] = field(default_factory=dict)
    state_dirs: tuple[str, ...] = ()
    git_exclude: tuple[str, ...] = ()


def applied(preset: Preset, *, args: Sequence[str] = (), prompt: str = "", tty: bool = False) -> Applied:
    """``args``: words that the agent gets beside the preset's own. Raises UsageError for a prompt that is
    missing or cannot be delivered."""
    way = preset.terminal if tty else preset.batch
    if not args and way.argv[0] == ARGS:
        raise UsageError(
            f"preset {preset.name} needs a command",
            hint=f"put it after --: moorage run {preset.name} -- CMD",
        )
    if not prompt and not tty and preset.prompt_required:
        raise UsageError(
            f"{preset.name} without a terminal needs a prompt",
            field="--prompt",
            hint='add --prompt "…", or -it to type to it yourself',
        )
    if prompt:
        _check(prompt, way)
    where = f"{WORKSPACE_PATH}/{STATE_FOLDER}/{preset.name}"
    return Applied(
        preset=preset.name,
        argv=_words(way.argv, args, prompt),
        resume_argv=_words(way.resume, args, way.resume_prompt),
        input=_input(way, prompt),
        resume_input=_input(way, way.resume_prompt),
        env={name: value.replace(STATE, where) for name, value in preset.state.items()},
        state_dirs=(preset.name,) if preset.state else (),
        git_exclude=preset.git_exclude,
    )


def missing_secrets(preset: Preset, given: Collection[str], template: bytes = b"") -> tuple[str, ...]:
    """The variables of which the agent will find none; () where one is given, or where ``template`` may have
    one: it names it, or takes variables from elsewhere."""
    if any(name in given or name.encode() in template for name in preset.secrets) or b"envFrom" in template:
        return ()
    return preset.secrets


def _check(prompt: str, way: Way) -> None:
    if "\0" in prompt:
        raise UsageError("the prompt holds a NUL character", field="--prompt", hint="give it as text")
    if way.prompt is Delivery.ARGUMENT and PROMPT in way.argv and prompt.startswith("-"):
        raise UsageError(
            "a prompt that begins with - would be read as a flag of the agent",
            field="--prompt",
            hint="begin it with another character",
        )
    if way.prompt is Delivery.TYPED and any(ord(char) < 0x20 or ord(char) == 0x7F for char in prompt):
        raise UsageError(
            "the prompt is typed into the agent's terminal, and so can be one line of text only",
            field="--prompt",
            hint="put a longer one into a file of the source, and name the file in the prompt",
        )


def _words(argv: Sequence[str], args: Sequence[str], prompt: str) -> tuple[str, ...]:
    words: list[str] = []
    for word in argv:
        if word == ARGS:
            words += args
        elif PROMPT not in word:
            words.append(word)
        elif prompt:
            words.append(word.replace(PROMPT, prompt))
    return tuple(words)


def _input(way: Way, prompt: str) -> str:
    if not prompt or way.prompt is Delivery.ARGUMENT:
        return ""
    return prompt + ENTER if way.prompt is Delivery.TYPED else prompt
