"""``-e NAME=VALUE``, ``-e NAME`` and ``--env-file``: the environment a person gives to an agent.

Values are secret from here on: no message names one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from moorage.cli.small_file import read_small_file
from moorage.core.command import check_text
from moorage.core.errors import UsageError
from moorage.core.owned import ENV_PREFIXES

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def read_environment(
    pairs: Iterable[str], files: Iterable[str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Files first, in order, then ``-e``; later ones win. Raises UsageError, or NotFound for a file."""
    result: dict[str, str] = {}
    for file in files:
        for number, line in enumerate(_lines(file), 1):
            text = line.strip()
            if text and not text.startswith("#"):
                name, value = _pair(line.lstrip(), f"{file}:{number}", environ)
                result[name] = value
    for pair in pairs:
        name, value = _pair(pair, "-e", environ)
        result[name] = value
    return result


def _lines(file: str) -> list[str]:
    hint = "give the path of a file of NAME=VALUE lines"
    data = read_small_file(file, "environment file", field="--env-file", hint=hint)
    try:
        return data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text", field="--env-file", hint="save it as UTF-8") from error


def _pair(text: str, place: str, environ: Mapping[str, str]) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        name = name.strip()
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{place}: a variable's name starts with a letter or _ and holds letters, digits, _ . -",
            hint="write -e NAME=VALUE, or -e NAME to pass on your own",
            field="-e" if place == "-e" else "--env-file",
        )
    if name.startswith(ENV_PREFIXES):
        raise UsageError(
            f"{place}: {name} is Moorage's own: {' and '.join(p + '*' for p in ENV_PREFIXES)} are taken",
            hint="use another name",
        )
    if not equals:
        if name not in environ:
            raise UsageError(
                f"{place}: {name} is not set in your environment",
                hint=f"export {name} first, or write {name}=VALUE in an --env-file",
            )
        value = environ[name]
    check_text(value, f"{place}: the value of {name}", field="-e" if place == "-e" else "--env-file")
    if "\0" in value:
        raise UsageError(f"{place}: the value of {name} holds a NUL byte", hint="a variable cannot hold one")
    return name, value
