"""The checkers of others that ``./dev check`` runs: ruff, mypy, import-linter, gofmt, go vet.

Each is a command that ends with 0 when all is well; what it printed is shown only when it is not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hatch_build import go_environment


@dataclass(frozen=True)
class Program:
    """One checker: a title, its command, where it runs, and whether any output at all is a fault."""

    title: str
    argv: tuple[str, ...]
    folder: str = "."
    must_be_silent: bool = False
    hint: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a checker said."""

    title: str
    passed: bool
    output: str


def programs(root: Path) -> list[Program]:
    """The slowest first, since a few run at once."""
    bin_folder = Path(sys.executable).parent
    return [
        Program("types", (sys.executable, "-m", "mypy", "--no-error-summary")),
        *go_programs(root),
        Program("layers", (str(bin_folder / "lint-imports"),)),
        Program("lint", (str(bin_folder / "ruff"), "check", "--quiet"), hint="ruff check --fix mends many"),
        Program(
            "format", (str(bin_folder / "ruff"), "format", "--check", "--quiet"), hint="ruff format mends it"
        ),
    ]


def go_programs(root: Path) -> list[Program]:
    """``go vet`` needs a module's dependencies, so only agentctl, which has none; gofmt reads any file."""
    go = os.environ.get("MOORAGE_GO", "go")
    gofmt = str(Path(go).with_name("gofmt")) if "/" in go else "gofmt"
    ours = ("agentctl", "tests/cluster/tools", "tests/cluster/versions")
    folders = [folder for folder in ours if (root / folder).is_dir()]
    found = []
    if (root / "agentctl/go.mod").exists():
        found.append(Program("go vet", (go, "vet", "./..."), "agentctl"))
    if folders:
        found.append(
            Program("gofmt", (gofmt, "-l", *folders), must_be_silent=True, hint="gofmt -w mends them")
        )
    return found


def run(program: Program, root: Path, environment: Mapping[str, str]) -> Outcome:
    try:
        done = subprocess.run(
            program.argv,
            cwd=root / program.folder,
            env=go_environment(environment) if program.folder == "agentctl" else dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return Outcome(program.title, False, f"{program.argv[0]} is not installed; run this as ./dev check\n")
    passed = done.returncode == 0 and not (program.must_be_silent and done.stdout.strip())
    hint = f"{program.hint}\n" if program.hint and not passed else ""
    return Outcome(program.title, passed, done.stdout + hint)
