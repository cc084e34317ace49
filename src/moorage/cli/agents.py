"""What stands before ``--`` in ``run``, and the prompt: a preset, a path, and what the agent is told.

Called by ``verbs.run`` before anything is opened. What a preset does with them is ``core.presets``'s to say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from moorage.cli.command import Call
from moorage.cli.small_file import LIMIT, check_size, read_small_file, read_stdin
from moorage.cli.text import nearest, shell_line
from moorage.cli.wiring import PresetFiles
from moorage.core.errors import UsageError
from moorage.core.presets import Applied, Preset, applied, missing_secrets

PROMPT_FLAGS = ("--prompt", "--prompt-file")


def choose(words: Sequence[str], source: str, presets: PresetFiles) -> tuple[Preset | None, str]:
    """The preset that ``[AGENT] [PATH]`` names, if any, and where the source is. Raises UsageError."""
    known = presets.names()
    named = bool(words) and words[0] in known
    paths = words[1:] if named else words
    if not named and paths and not _is_path(paths[0]):
        raise _unknown(words, known)
    if len(paths) > 1:
        raise UsageError(
            f"unexpected word {paths[1]!r} before --",
            hint='before -- stand an agent and a path; a prompt is given with --prompt "…"',
        )
    if paths and source:
        raise UsageError(
            f"{paths[0]} and --source both say what fills the workspace", hint="leave out one of them"
        )
    return presets.get(words[0]) if named else None, paths[0] if paths else source


def _is_path(word: str) -> bool:
    return word in (".", "..") or word.startswith("~") or "/" in word or ":" in word


def _unknown(words: Sequence[str], known: Sequence[str]) -> UsageError:
    word = words[0]
    listed = f"agents: {', '.join(known)}"
    if near := _nearest(word, known):
        return UsageError(f"there is no agent {word!r}", field="AGENT", hint=f"did you mean {near}? {listed}")
    if Path(word).is_dir():
        return UsageError(
            f"there is no agent {word!r}", field="AGENT", hint=f"for the directory write ./{word}; {listed}"
        )
    command = shell_line(words)
    return UsageError(
        f"there is no agent {word!r}",
        field="AGENT",
        hint=f"a command stands after --: moorage run -- {command}; {listed}",
    )


def _nearest(word: str, known: Sequence[str]) -> str:
    """Also by the name of its program: claude, gemini."""
    begun = next((name for name in known if word and name.startswith(f"{word}-")), "")
    return begun or nearest(word, known)


def read_prompt(prompt: str | None, file: str | None, *, stdin_taken_by: str = "") -> str:
    """What ``--prompt`` or ``--prompt-file`` gives, without its last line ends; "" where neither is given.
    ``stdin_taken_by``: a flag that wants stdin, too. Raises UsageError, and NotFound for a file."""
    if prompt is not None and file is not None:
        raise UsageError("--prompt and --prompt-file exclude each other", hint="leave out one of them")
    flag = PROMPT_FLAGS[0] if file is None else PROMPT_FLAGS[1]
    given = prompt if file is None else file
    if given is None:
        return ""
    if given == "-":
        if stdin_taken_by:
            raise UsageError(
                f"{flag} - and {stdin_taken_by} both want stdin", hint="give one of them another way"
            )
        text = _text(read_stdin(LIMIT + 1, field=flag), "stdin", flag)
    elif file is not None:
        hint = "give the path of a file that holds the prompt"
        text = _text(read_small_file(file, "prompt", field=flag, hint=hint), file, flag)
    else:
        text = given
    if not text.strip():
        raise UsageError("the prompt is empty", field=flag, hint='write it: --prompt "…"')
    return text.rstrip("\r\n")


def _text(data: bytes, place: str, flag: str) -> str:
    check_size(data, place, flag)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{place} is not UTF-8 text", field=flag, hint="save it as UTF-8") from None


def apply(preset: Preset | None, argv: Sequence[str] | None, prompt: str, *, tty: bool) -> Applied | None:
    """None without a preset. Raises UsageError."""
    if preset is not None:
        return applied(preset, args=argv or (), prompt=prompt, tty=tty)
    if prompt:
        raise UsageError(
            "a prompt needs an agent that it is for",
            field="--prompt",
            hint="name one: moorage run claude-code; or custom, for a command of your own",
        )
    return None


def say_missing(call: Call, preset: Preset, given: Collection[str], template: bytes | None) -> None:
    """A warning where the agent will find none of its keys. Ours are never passed on unasked."""
    missing = missing_secrets(preset, given, template or b"")
    if not missing:
        return
    ours = [name for name in missing if name in call.wiring.environ]
    flag = f"-e {ours[0]} passes on your own" if ours else f"add -e {missing[0]}=…, or --env-file FILE"
    wanted = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} or {missing[-1]}"
    call.terminal.say(f"warning: {preset.name} is given no {wanted}: {flag}")
