"""What `./dev bench` says about its samples, and what it does to a page. No benchmark runs here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.bench.document import renew
from tools.bench.figures import Row, Table

MACHINE = {"processor": "1 × abacus"}


def table(*values: float) -> Table:
    return Table("t", "A table", "How it was measured.", [Row("a row", "ms", values, "≤ 9")])


def test_a_row_shows_how_many_samples_their_median_and_their_spread() -> None:
    row = Row("a row", "ms", (4.0, 1.0, 3.0, 2.0, 100.0, 6.0, 7.0, 8.0, 9.0, 5.0, 10.0), "≤ 9")
    assert row.cells() == ["a row", "11", "6", "2 – 10", "ms", "≤ 9"]


def test_one_sample_has_no_spread() -> None:
    assert Row("size", "MB", (3.588,)).cells() == ["size", "1", "3.59", "", "MB", ""]


def test_the_object_for_programs_has_every_sample() -> None:
    assert table(3.0, 1.0, 2.0).plain()["rows"][0]["values"] == [3.0, 1.0, 2.0]


def test_a_page_keeps_all_but_its_tables(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench:x -->\nold figures\n<!-- /bench:x -->\nafter\n")
    renew(page, "x", MACHINE, [table(5.0, 5.0), Table("e", "An empty table", "")])
    text = page.read_text()
    assert text.startswith("before\n<!-- bench:x -->\n")
    assert text.endswith("\n<!-- /bench:x -->\nafter\n")
    assert "| a row | 2 | 5 | 5 – 5 | ms | ≤ 9 |" in text
    assert "abacus" in text
    assert "old figures" not in text
    assert "An empty table" not in text


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("mine")
    with pytest.raises(LookupError):
        renew(page, "x", MACHINE, [table(1.0)])
    assert page.read_text() == "mine"
