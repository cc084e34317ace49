"""A preset's TOML, read and checked. Called by ``moorage.presets`` for ours and for a user's own.

Strict: a preset decides what runs with somebody's keys, so what is not understood is refused with its field.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.core.errors import DocumentError, Problem
from moorage.core.owned import ENV_PREFIXES
from moorage.core.presets.preset import ARGS, PROMPT, STATE, Delivery, Preset, Way

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parse_preset(name: str, text: str) -> Preset:
    """The preset ``name`` as ``text`` says it. Raises DocumentError with every fault there is."""
    if not _NAME.fullmatch(name) or len(name) > 63:
        raise _invalid(
            name,
            [
                Problem(
                    "name", "name", f"{name!r} is no name of a preset", "a-z, 0-9 and single - between them"
                )
            ],
        )
    try:
        preset = msgspec.convert({**_loaded(name, text), "name": name}, Preset)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$.")
        raise _invalid(
            name, [Problem(place.rstrip("`"), "shape", message, "see docs/presets.md for the fields")]
        ) from None
    if problems := list(_problems(preset)):
        raise _invalid(name, problems)
    return preset


def _loaded(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _invalid(name, [Problem("", "syntax", str(error), "mend the TOML")]) from None


def _invalid(name: str, problems: list[Problem]) -> DocumentError:
    first = problems[0]
    where = f"{first.field}: " if first.field else ""
    return DocumentError(f"preset {name} is not valid: {where}{first.message}", problems, hint=first.hint)


def _problems(preset: Preset) -> Iterator[Problem]:
    yield from _of_way("batch", preset.batch, Delivery.TYPED, "there is no terminal to type into")
    yield from _of_way("terminal", preset.terminal, Delivery.STDIN, "a terminal's input does not end")
    for variable, value in preset.state.items():
        field = f"state.{variable}"
        if not _VARIABLE.fullmatch(variable) or variable.startswith(ENV_PREFIXES):
            yield Problem(field, "variable", f"{variable} cannot be set", "name a variable of the agent")
        if STATE not in value:
            yield Problem(field, "state", "does not lie in the workspace", f"write {STATE} in its value")
    for variable in preset.secrets:
        if not _VARIABLE.fullmatch(variable):
            yield Problem("secrets", "variable", f"{variable!r} is no variable", "give names, never values")
    for pattern in preset.git_exclude:
        if not pattern.strip() or pattern[0] in "!#" or "\n" in pattern:
            yield Problem("git_exclude", "pattern", f"{pattern!r} excludes nothing", "give a pattern of git")


def _of_way(field: str, way: Way, impossible: Delivery, why: str) -> Iterator[Problem]:
    if way.prompt is impossible:
        yield Problem(
            f"{field}.prompt", "delivery", f"{way.prompt.value} is not possible: {why}", "choose another"
        )
    as_word = way.prompt is Delivery.ARGUMENT
    yield from _of_argv(f"{field}.argv", way.argv, says=as_word)
    yield from _of_argv(f"{field}.resume", way.resume, says=as_word and bool(way.resume_prompt))


def _of_argv(field: str, argv: tuple[str, ...], *, says: bool) -> Iterator[Problem]:
    if argv.count(ARGS) != 1:
        yield Problem(field, "args", f"has {argv.count(ARGS)} words {ARGS}", f"write {ARGS} once, as a word")
    places = sum(word.count(PROMPT) for word in argv)
    if places != says:
        wanted = "once" if says else "nowhere"
        yield Problem(field, "prompt", f"has {places} times {PROMPT}", f"here it stands {wanted}")
