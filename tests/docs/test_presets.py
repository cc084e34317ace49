"""The table of docs/presets.md is that of the presets' files."""

from __future__ import annotations

from pathlib import Path

from moorage.core.presets import parse_preset
from tools.docs.presets import renewed, table

PAGE = (Path(__file__).parents[2] / "docs" / "presets.md").read_text()


def test_the_table_is_made_from_the_files() -> None:
    assert renewed(PAGE) == PAGE, "run: ./dev docs"
    assert table() in PAGE


def test_an_old_table_is_written_anew_and_no_word_of_hand_lost() -> None:
    row = next(line for line in PAGE.splitlines(keepends=True) if line.startswith("| `codex` |"))
    assert renewed(PAGE.replace(row, "| `gone` | | | | | |\n")) == PAGE


def test_the_example_is_one_that_is_taken() -> None:
    text = PAGE.partition("```toml\n")[2].partition("```")[0]
    assert parse_preset("my-agent", text).state == {"MY_AGENT_HOME": "{state}"}
