"""Bad command lines: each has its message and exit code on record, and asks nothing of the sessions.

The golden file lists them; UPDATE_GOLDEN=1 writes the messages anew (the command lines are kept).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

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
