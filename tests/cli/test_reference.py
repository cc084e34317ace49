"""Every row of the survey is met, open for an issue that is named, or decided otherwise where it says so."""

from __future__ import annotations

import ast
from pathlib import Path

import click
import pytest

from moorage.cli.app import root_command
from moorage.cli.verbs import ALIASES, VERBS
from tests.cli.reference import FACTS, FLAGS, MATTER, OPEN, OTHERWISE, Flag, Open, Otherwise
from tests.cli.test_flags_matter import CASES

ROOT = Path(__file__).parents[2]
ISSUES = range(5, 11)
TESTS = sorted({row.test for row in FLAGS} | {row.test for row in FACTS})


def options(verb: str) -> dict[str, click.Option]:
    """The flags of a verb by every spelling."""
    root = root_command()
    command = root.get_command(click.Context(root), verb) if verb else root
    assert command is not None, verb
    found = [param for param in command.params if isinstance(param, click.Option)]
    return {word: one for one in found for word in (*one.opts, *one.secondary_opts)}


@pytest.mark.parametrize("row", FLAGS, ids=lambda row: f"{row.verb} {row.flag}")
def test_a_flag_is_there_and_a_case_shows_that_it_matters(row: Flag) -> None:
    known = options(row.verb)
    assert row.flag in known
    if row.test != MATTER:
        return
    spellings = {word for word, one in known.items() if one is known[row.flag]}
    shown = [case for case in CASES if row.verb in ("", case.verb[0]) and spellings & {*case.flag}]
    assert shown, f"no case of {MATTER} is about {row.flag}"


@pytest.mark.parametrize("test", TESTS)
def test_a_test_that_a_row_names_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    functions = [
        node.name
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    assert functions
    assert name in ("", *functions)


@pytest.mark.parametrize("row", OPEN, ids=lambda row: row.what[:40])
def test_what_is_open_names_its_issue_and_is_not_there_yet(row: Open) -> None:
    assert row.issue in ISSUES
    assert not {*row.verbs} & {*VERBS, *ALIASES}


@pytest.mark.parametrize("row", OTHERWISE, ids=lambda row: row.what)
def test_what_was_decided_otherwise_stands_where_it_is_said(row: Otherwise) -> None:
    assert row.words in " ".join((ROOT / row.page).read_text().split())
