"""Bad command lines: each has its message and exit code on record, and asks nothing of the sessions.

The golden file lists them; UPDATE_GOLDEN=1 writes the messages anew (the command lines are kept).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from moorage.cli.app import root_command
from moorage.cli.verbs import VERBS
from tests.cli.harness import Cli

FILE = Path(__file__).parent / "golden" / "bad_usage.yaml"
CASES: list[dict[str, Any]] = yaml.safe_load(FILE.read_text())
SECRET = "s3cr3t-value"


@pytest.fixture
def folder(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A folder with the files that the command lines name."""
    monkeypatch.chdir(cli.folder)
    Path("good.env").write_text("A=1\n")
    Path("bad-name.env").write_text(f"A=1\n# note\n9BAD={SECRET}\n")
    Path("binary.env").write_bytes(b"\xff\xfe\x00")
    Path("ours.env").write_text(f"MOORAGE_TOKEN={SECRET}\n")
    return cli


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case["argv"]) or "nothing")
def test_a_bad_command_line_says_what_is_wrong_and_asks_nobody(folder: Cli, case: dict[str, Any]) -> None:
    result = folder(*case["argv"])
    if os.environ.get("UPDATE_GOLDEN") == "1":
        case |= {"code": result.code, "stderr": result.err}
        FILE.write_text(yaml.safe_dump(CASES, sort_keys=False, allow_unicode=True, width=110))
    assert (result.code, result.err) == (case["code"], case["stderr"])
    assert result.code != 0
    assert result.out == b""
    assert result.err.startswith("error: ")
    assert SECRET not in result.err
    assert folder.verbs.calls == []


def test_there_are_many_and_each_verb_is_among_them() -> None:
    assert len(CASES) >= 30
    assert len({tuple(case["argv"]) for case in CASES}) == len(CASES)
    assert set(VERBS) <= {word for case in CASES for word in case["argv"]}


def test_every_message_says_what_to_do() -> None:
    assert [case["argv"] for case in CASES if "\n  hint: " not in case["stderr"]] == []


def _flags(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Option]]:
    """Every flag with a value, after the words of its verb."""
    ctx = click.Context(command)
    taking = [
        (path, param)
        for param in command.params
        if isinstance(param, click.Option) and not param.is_flag and not param.count
    ]
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            verb = command.get_command(ctx, name)
            assert verb is not None
            taking += _flags(verb, (*path, name))
    return taking


def test_a_flag_without_its_value_is_shown_with_it(cli: Cli) -> None:
    taking = _flags(root_command())
    assert len(taking) > 100
    silent = []
    for path, option in taking:
        for flag in option.opts:
            told = (option.help or "").rstrip(".")[1:]
            hint = cli(*path, flag).err.partition("\n  hint: ")[2]
            if (
                not option.metavar
                or not hint.startswith(f"write {flag} {option.metavar}: ")
                or told not in hint
            ):
                silent.append((*path, flag))
    assert silent == []


@pytest.mark.parametrize(
    "argv", [("describe", "a\nb"), ("a\nhint: b",), ("ls", "--a\nb"), ("ls", "--sort-by", "a\nb")]
)
def test_what_was_typed_begins_no_line_of_the_error(cli: Cli, argv: tuple[str, ...]) -> None:
    lines = cli(*argv).err.splitlines()
    assert "\\n" in lines[0]
    assert [line for line in lines[1:] if not line.startswith(("  field: ", "  hint: "))] == []
