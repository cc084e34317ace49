"""docs/cli.md and the parser say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from moorage.cli import failures
from moorage.cli.flags import GlobalFlag, global_flags
from moorage.cli.verbs import VERBS
from moorage.core import errors
from tools.docs.reference import commands, renewed, usage

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S))


COMMANDS = dict(commands())


def flags_of(params: list[click.Parameter]) -> set[str]:
    """Flags as help shows them: ``-n, --namespace NAME``."""
    shown = set()
    for param in params:
        if isinstance(param, click.Option):
            words = ", ".join(sorted(param.opts, key=len))
            shown.add(f"{words} {param.metavar}" if param.metavar else words)
    return shown


def documented_flags(section: str) -> set[str]:
    return {flag.replace("\\|", "|") for flag in re.findall(r"^\| `(-[^`]*)` \|", section, re.M)}


def documented_codes(section: str) -> set[int]:
    line = re.search(r"^Exit codes: .*$", section, re.M)
    assert line is not None
    return {int(code) for code in re.findall(r"\b\d+\b", line.group())}


TABLE = {int(code) for code in re.findall(r"^\| (\d+) \|", SECTIONS["Exit codes"], re.M)}


def test_usage_and_flags_are_those_of_the_parser() -> None:
    assert renewed(PAGE.read_text()) == PAGE.read_text(), "run: ./dev docs"


@pytest.mark.parametrize("path", COMMANDS)
def test_a_verb_is_documented_with_its_usage_and_exactly_its_flags(path: str) -> None:
    command, section = COMMANDS[path], SECTIONS[path]
    assert usage(path, command) in section
    own = [param for param in command.params if not isinstance(param, GlobalFlag) and not _is_hidden(param)]
    assert documented_flags(section) == flags_of(own)


def _is_hidden(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and param.hidden


STALE = {
    "a flag is missing": (r"^\| `--force` .*\n", ""),
    "a flag is told otherwise": (r"(\| `--force` \| ).*", r"\1 Does something else. |"),
    "a flag is there no more": (r"^(\| `--force` .*\n)", r"\1| `--gone` | It was. |\n"),
    "the usage is old": (r"^moorage stop .*", "moorage stop NAME"),
    "the section is missing": (r"^## stop\n(?:.*\n)*?(?=^## )", ""),
}


@pytest.mark.parametrize(("pattern", "instead"), STALE.values(), ids=STALE)
def test_a_page_that_is_not_current_is_renewed_and_no_word_of_hand_lost(pattern: str, instead: str) -> None:
    page = PAGE.read_text()
    start, end = page.index("## stop\n"), page.index("## pause\n")
    stale = page[:start] + re.sub(pattern, instead, page[start:], count=1, flags=re.M)
    assert stale != page
    mended = renewed(stale)
    if "## stop" in stale:
        assert mended == page
    else:
        assert "moorage stop [FLAGS] NAME…" in mended
        assert page[:start] + page[end:].rstrip() == mended[: len(page[:start] + page[end:].rstrip())]


def test_no_verb_is_documented_that_is_not_there() -> None:
    about = {
        "A first look",
        "Global flags",
        "Streams",
        "JSON paths and columns",
        "Errors",
        "Exit codes",
        "Ctrl-C, and leaving an agent running",
        "When the server does not answer",
    }
    assert set(SECTIONS) - about == set(COMMANDS)


def test_the_global_flags_are_documented() -> None:
    assert documented_flags(SECTIONS["Global flags"]) == flags_of(list(global_flags()))


@pytest.mark.parametrize("path", COMMANDS)
def test_the_exit_codes_of_a_verb_are_in_the_table(path: str) -> None:
    codes = documented_codes(SECTIONS[path])
    assert {0, 2} <= codes <= TABLE
    entry = VERBS[path.split()[0]]
    assert (failures.OWN_FAILURE in codes) == (entry.carries_command or path == "attach")


def test_every_code_an_error_can_have_is_in_the_table() -> None:
    def below(kind: type[errors.MoorageError]) -> Iterator[type[errors.MoorageError]]:
        yield kind
        for child in kind.__subclasses__():
            yield from below(child)

    own = {failures.OWN_FAILURE, failures.INTERRUPTED, failures.BROKEN_PIPE}
    assert {kind.exit_code for kind in below(errors.MoorageError)} | own <= TABLE
