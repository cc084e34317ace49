"""docs/guarantees.md: every promise has tests and mutants that exist, or says in which issue it is built."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.docs.collected import collected
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/guarantees.md"
MUTANTS = {path.stem for path in (ROOT / "tests/mutants").glob("*.toml")}
ISSUES = ("6", "8", "10")
_ROW = re.compile(
    r"^\| (?P<number>[A-Z]\d+) \| (?P<promise>[^|]+) \| (?P<test>[^|]*?) ?\| ?(?P<mutant>[^|]*)\|$"
)
_CODE = re.compile(r"`([^`]+)`")
_OPEN = re.compile(r"^\*open: (\d+)\*$")


@dataclass(frozen=True)
class Row:
    """One promise as the page has it. ``issue``: where it is open, else ""."""

    number: str
    tests: tuple[str, ...]
    mutants: tuple[str, ...]
    issue: str


def rows(text: str) -> list[Row]:
    found = []
    for line in text.splitlines():
        if not re.match(r"\| [A-Z]\d", line):
            continue
        match = _ROW.match(line)
        assert match, f"no row of four columns: {line}"
        still_open = _OPEN.match(match["test"])
        found.append(
            Row(
                match["number"],
                tuple(_CODE.findall(match["test"])),
                tuple(_CODE.findall(match["mutant"])),
                still_open[1] if still_open else "",
            )
        )
    return found


ROWS = rows(PAGE.read_text())


def test_promises_are_numbered_without_a_gap() -> None:
    for letter in "FPSE":
        numbers = [int(row.number[1:]) for row in ROWS if row.number[0] == letter]
        assert numbers == list(range(1, len(numbers) + 1)), letter
        assert numbers, letter


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_a_promise_has_a_test_and_a_mutant_or_is_open_for_an_issue(row: Row) -> None:
    if row.issue:
        assert (row.tests, row.mutants) == ((), ())
        assert row.issue in ISSUES
        return
    assert row.tests
    assert row.mutants
    assert [name for name in row.mutants if name not in MUTANTS] == []


def test_every_test_that_is_named_is_collected() -> None:
    """Also those of the tiers that this run leaves out: collecting them starts no cluster."""
    named = {test for row in ROWS for test in row.tests}
    nodes, said = collected(named)
    assert sorted(named - {node.partition("[")[0] for node in nodes}) == [], said


def test_a_row_that_promises_what_nothing_shows_is_noticed() -> None:
    (row,) = rows("| F1 | It holds. | | |\n")
    with pytest.raises(AssertionError):
        test_a_promise_has_a_test_and_a_mutant_or_is_open_for_an_issue(row)
