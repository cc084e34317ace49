"""``--help``: examples first, the same text everywhere, and light: it loads no adapter."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest

from moorage.cli.app import root_command
from moorage.cli.command import VerbCommand
from moorage.cli.verbs import VERBS
from tests.cli.harness import Cli, compare


def leaf(words: tuple[str, ...]) -> click.Command:
    command: click.Command = root_command()
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    return command


def paths() -> list[tuple[str, ...]]:
    """Every verb, and every verb of a group."""
    inner = [(verb, word) for verb in VERBS for word in getattr(leaf((verb,)), "commands", {})]
    return [*((verb,) for verb in VERBS), *inner]


PATHS = paths()


@pytest.mark.parametrize("words", [(), *PATHS], ids=" ".join)
def test_help_is_as_recorded_fits_80_columns_and_asks_nobody(cli: Cli, words: tuple[str, ...]) -> None:
    result = cli(*words, "--help")
    assert (result.code, result.err) == (0, "")
    assert max(len(line) for line in result.text.splitlines()) <= 80
    assert cli.verbs.calls == []
    compare(f"help/{'-'.join(words) or 'moorage'}.txt", result.text)


@pytest.mark.parametrize("verb", list(VERBS))
def test_the_summary_in_the_table_is_the_verbs_own(verb: str) -> None:
    root = root_command()
    command = root.get_command(click.Context(root), verb)
    assert command is not None
    assert command.name == verb
    assert command.get_short_help_str(limit=200) == VERBS[verb].summary


@pytest.mark.parametrize("words", PATHS, ids=" ".join)
def test_every_verb_shows_examples_that_name_it(words: tuple[str, ...]) -> None:
    command = leaf(words)
    if not isinstance(command, click.Group):
        assert isinstance(command, VerbCommand)
        assert command.examples
        assert all(
            f"moorage {' '.join(words)}" in example for example in command.examples if "-q" not in example
        )


@pytest.mark.parametrize("words", PATHS, ids=" ".join)
def test_each_flag_with_a_value_says_what_holds_without_it(words: tuple[str, ...]) -> None:
    command = leaf(words)
    valued = [param for param in command.params if isinstance(param, click.Option) and not param.is_flag]
    said = {param.opts[-1]: (param.help or "").lower() for param in valued if not param.count}
    silent = [flag for flag, help in said.items() if not re.search("default|required|repeatable|means", help)]
    assert silent == []


HEAVY = ("aiohttp", "sqlalchemy", "cryptography", "alembic", "msgspec", "rich", "yaml", "asyncio")
LOADED = """
import sys
from collections.abc import Mapping
from moorage.cli.app import run_cli
class Bare:
    environ = {}
run_cli(sys.argv[1:], Bare())
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def test_help_loads_no_heavy_module() -> None:
    process = subprocess.run(
        [sys.executable, "-c", LOADED, "--help"], capture_output=True, text=True, check=True
    )
    loaded = set(process.stderr.split())
    assert "click" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_the_version_flag_asks_nobody(cli: Cli) -> None:
    assert cli("--version").text == "moorage 0.1.0\n"
    assert cli.verbs.calls == []


def test_without_a_verb_five_commands_are_shown_and_nobody_is_asked(cli: Cli) -> None:
    result = cli()
    assert (result.code, result.err) == (0, "")
    assert re.findall(r"^  moorage (\w+)", result.text, re.M) == ["run", "ls", "attach", "stop", "doctor"]
    assert max(map(len, result.text.splitlines())) <= 80
    assert cli.verbs.calls == []


@pytest.mark.parametrize("words", [(), *PATHS], ids=" ".join)
def test_help_as_a_verb_says_what_the_flag_says(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli("help", *words).text == cli(*words, "--help").text
