"""A preset's file is taken as a whole or refused with the field at fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.core.errors import DocumentError, NotFound
from moorage.core.presets import parse_preset
from moorage.presets import LIMIT, Presets

GOOD = """\
title = "Bot"
secrets = ["BOT_KEY"]
git_exclude = [".bot*"]
[batch]
prompt = "argument"
argv = ["bot", "{args}", "{prompt}"]
resume = ["bot", "--again", "{args}", "{prompt}"]
resume_prompt = "go on"
[terminal]
prompt = "typed"
argv = ["bot", "{args}"]
resume = ["bot", "--again", "{args}"]
[state]
BOT_HOME = "{state}"
"""
CHANGES = {
    "no TOML": ("title =", "title", ""),
    "a field that we do not know": ('title = "Bot"', 'title = "Bot"\ntitel = "Bot"', ""),
    "a field that is missing": ('title = "Bot"\n', "", ""),
    "a way that we do not know": ('prompt = "argument"', 'prompt = "mail"', "batch.prompt"),
    "another shape": ('secrets = ["BOT_KEY"]', 'secrets = "BOT_KEY"', "secrets"),
    "typed where no terminal is": ('prompt = "argument"', 'prompt = "typed"', "batch.prompt"),
    "stdin where it does not end": ('prompt = "typed"', 'prompt = "stdin"', "terminal.prompt"),
    "a command without place for words": ('["bot", "{args}", "{p', '["bot", "{p', "batch.argv"),
    "a prompt that goes nowhere": ('["bot", "{args}", "{prompt}"]', '["bot", "{args}"]', "batch.argv"),
    "a prompt said again": ('"{prompt}"]\nresume_prompt = "go on"', '"{prompt}"]', "batch.resume"),
    "an empty command": ('["bot", "--again", "{args}"]', "[]", "terminal.resume"),
    "state elsewhere": ('BOT_HOME = "{state}"', 'BOT_HOME = "/root"', "state.BOT_HOME"),
    "a variable of ours": ("BOT_HOME", "MOORAGE_HOME", "state.MOORAGE_HOME"),
    "a secret's value": ('["BOT_KEY"]', '["BOT_KEY=1"]', "secrets"),
    "an exclusion of the contrary": ('[".bot*"]', '["!src"]', "git_exclude"),
}  # fmt: skip


def test_a_good_one_is_taken() -> None:
    preset = parse_preset("bot", GOOD)
    assert (preset.name, preset.title, preset.secrets) == ("bot", "Bot", ("BOT_KEY",))
    assert preset.terminal.resume == ("bot", "--again", "{args}")


@pytest.mark.parametrize("name", CHANGES)
def test_a_fault_is_told_with_its_field(name: str) -> None:
    old, new, field = CHANGES[name]
    assert GOOD.count(old) == 1
    with pytest.raises(DocumentError, match="preset bot is not valid") as told:
        parse_preset("bot", GOOD.replace(old, new))
    assert told.value.problems[0].field == field
    assert told.value.hint


@pytest.mark.parametrize("name", ["", "Bot", "a/b", "-bot", "a" * 64])
def test_a_name_is_a_word_that_can_stand_in_a_path(name: str) -> None:
    with pytest.raises(DocumentError, match="no name of a preset"):
        parse_preset(name, GOOD)


def test_a_users_preset_adds_to_ours_or_takes_the_place_of_one(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(GOOD)
    (tmp_path / "codex.toml").write_text(GOOD)
    (tmp_path / "notes.txt").write_text("not one")
    presets = Presets(tmp_path)
    assert set(presets.names()) == {*Presets().names(), "bot"}
    assert (presets.get("codex").title, presets.get("aider").title) == ("Bot", "Aider")
    assert presets.place("codex") == str(tmp_path / "codex.toml")
    assert presets.place("aider") == "built in"


def test_a_folder_that_is_not_there_adds_nothing(tmp_path: Path) -> None:
    assert Presets(tmp_path / "none").names() == Presets().names()


@pytest.mark.parametrize("data", [b"\xff", b"#" * (LIMIT + 1)])
def test_a_file_that_cannot_be_one_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bot.toml").write_bytes(data)
    with pytest.raises(DocumentError, match="bot cannot be read from"):
        Presets(tmp_path).get("bot")


def test_one_that_nobody_has_is_not_found() -> None:
    with pytest.raises(NotFound, match="no preset 'bot'"):
        Presets().get("bot")
