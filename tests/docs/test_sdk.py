"""docs/sdk.md against the package it speaks of: every public name of E2B's, and what of it works here."""

from __future__ import annotations

import importlib.metadata
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import e2b
import pytest

import moorage
from moorage.core import errors
from moorage.sdk.offer import NOT_OFFERED
from tests.docs.pages import ROOT, blocks

PAGE = (ROOT / "docs/sdk.md").read_text()
PROGRAMS = [block.text for block in blocks(PAGE) if block.language == "python"]


def part(name: str) -> Any:
    """The class of a property of E2B's sandbox."""
    return inspect.signature(inspect.getattr_static(e2b.AsyncSandbox, name).fget).return_annotation


SECTIONS: dict[str, tuple[str, Any, Any, Any]] = {
    "sandbox": ("`Sandbox`, `AsyncSandbox`", e2b.AsyncSandbox, moorage.AsyncSandbox, moorage.Sandbox),
    "commands": ("`sandbox.commands`", part("commands"), moorage.AsyncCommands, moorage.Commands),
    "files": ("`sandbox.files`", part("files"), moorage.AsyncFilesystem, moorage.Filesystem),
    "pty": ("`sandbox.pty`", part("pty"), moorage.AsyncPty, moorage.Pty),
    "git": ("`sandbox.git`", part("git"), object, object),
    "handle": (
        "`CommandHandle`, `AsyncCommandHandle`",
        e2b.AsyncCommandHandle,
        moorage.AsyncCommandHandle,
        moorage.CommandHandle,
    ),
    "watch": (
        "`WatchHandle`, `AsyncWatchHandle`",
        e2b.AsyncWatchHandle,
        moorage.AsyncWatchHandle,
        moorage.WatchHandle,
    ),
    "paginator": (
        "`SandboxPaginator`, `AsyncSandboxPaginator`",
        e2b.AsyncSandboxPaginator,
        moorage.AsyncSandboxPaginator,
        moorage.SandboxPaginator,
    ),
}


def rows(title: str) -> dict[str, tuple[str, str]]:
    """The table below a heading: name → what the page says of it."""
    section = PAGE.split(f"### {title}\n")[1].split("\n#")[0]
    found = re.findall(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*)\|$", section, re.M)
    assert len(found) == len({name for name, _, _ in found})
    return {name: (here.strip(), more.strip()) for name, here, more in found}


def parameters(owner: Any, name: str) -> set[str] | None:
    """Of a method, however it is put into its class; None for a property."""
    held = inspect.getattr_static(owner, name)
    for inner in ("__func__", "_of_object", "method"):
        held = getattr(held, inner, held)
    return set(inspect.signature(held).parameters) - {"self", "cls"} if inspect.isfunction(held) else None


@pytest.mark.parametrize("section", SECTIONS)
def test_every_name_of_e2bs_is_told_and_told_rightly(section: str) -> None:
    title, theirs, *ours = SECTIONS[section]
    names = {name for name in dir(theirs) if not name.startswith("_")}
    if section == "sandbox":
        names |= {name for name in dir(e2b.Sandbox) if not name.startswith("_")}
    told = rows(title)
    assert set(told) == names
    for name, (here, more) in told.items():
        if here == "not offered":
            assert more == NOT_OFFERED[section][name], name
            assert not any(name in dir(face) for face in ours), name
            continue
        word, *without = re.findall(r"works|`(?:\w+)`", here)
        assert word == "works", name
        for face in ours:
            expected, taken = parameters(theirs, name), parameters(face, name)
            missing = (expected or set()) - (taken or set())
            assert missing == {parameter.strip("`") for parameter in without}, (face, name)
    assert set(NOT_OFFERED[section]) <= names


def test_the_page_names_the_version_it_was_compared_with() -> None:
    assert f"`e2b` {'.'.join(importlib.metadata.version('e2b').split('.')[:2])}," in PAGE


def test_each_name_of_an_error_is_a_name_of_e2bs_and_the_class_that_is_told() -> None:
    table = re.findall(r"^\| `(\w+Exception)` \| `(\w+)` \|", PAGE, re.M)
    assert len(table) >= 9
    for name, here in table:
        assert issubclass(getattr(e2b, name), Exception)
        assert getattr(moorage, name) is getattr(errors, here), name
    caught = {name for name in re.findall(r"`(\w+Exception)`", PAGE) if hasattr(moorage, name)}
    assert {name for name in dir(moorage.sdk.names) if name.endswith("Exception")} <= caught


def test_the_quick_start_is_e2bs_own_but_for_the_import() -> None:
    readme = str(importlib.metadata.metadata("e2b").json["description"])
    theirs = next(
        block.text for block in blocks(readme) if block.language == "py" and "Sandbox.create" in block.text
    )
    assert PROGRAMS[0] == theirs.replace("from e2b import Sandbox", "from moorage import Sandbox")


def test_a_users_program_is_typed_to_the_strictest(tmp_path: Path) -> None:
    for number, program in enumerate(PROGRAMS):
        (tmp_path / f"program{number}.py").write_text(program)
    wrong = "from moorage import Sandbox\n\nnumber: int = Sandbox.create().commands.run('x').stdout\n"
    (tmp_path / "wrong.py").write_text(wrong)
    files = sorted(str(path) for path in tmp_path.glob("*.py"))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        "",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    done = subprocess.run([*command, *files], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert [line for line in done.stdout.splitlines() if ": error: " in line] == [
        "wrong.py:3: error: Incompatible types in assignment "
        '(expression has type "str", variable has type "int")  [assignment]'
    ], done.stdout
