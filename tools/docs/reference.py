"""The generated parts of docs/cli.md: how each verb is used, and its flags. Made from the parser.

In the section of a verb the first fenced block is its usage, and the first table its flags; both are written
anew, all else in the page is written by hand and stays. A verb without a section gets one. Used by
``tools.docs`` and by the test that the page is current.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import click

from moorage.cli.app import root_command
from moorage.cli.command import VerbCommand
from moorage.cli.flags import GlobalFlag, global_flags
from moorage.cli.verbs import VERBS

GLOBAL = "Global flags"
HEADER = "| flag | meaning |\n|---|---|\n"
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.M | re.S)
_USAGE = re.compile(r"^```\nmoorage .*?^```\n", re.M | re.S)
_FLAG = re.compile(r"(?<![\w`-])(--?[a-zA-Z][\w-]*)")
_TABLE = re.compile(r"^\| flag \| meaning \|\n\|---\|---\|\n(?:\|.*\n)*", re.M)


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every verb by its words, in the order of the help."""
    root = root_command()
    for name in VERBS:
        command = root.get_command(click.Context(root), name)
        assert command is not None, "the table of verbs names only what is there"
        if isinstance(command, click.Group):
            yield from ((f"{name} {word}", inner) for word, inner in command.commands.items())
        else:
            yield name, command


def usage(path: str, command: click.Command) -> str:
    pieces = command.collect_usage_pieces(click.Context(command, info_name=path))
    return f"```\n{' '.join(['moorage', path, *pieces])}\n```\n"


def table(params: Sequence[click.Parameter], groups: Mapping[str, str] | None = None) -> str:
    """The flags as help shows them, below the titles of their groups; "" when there are none."""
    rows: dict[str, list[str]] = {title: [] for title in (groups or {}).values()}
    for param in params:
        if isinstance(param, click.Option) and not param.hidden:
            rows.setdefault((groups or {}).get(param.name or "", ""), []).append(_row(param))
    lines = [line for title, of in rows.items() for line in ([f"| **{title}** | |\n"] if title else []) + of]
    return HEADER + "".join(lines) if lines else ""


def _row(option: click.Option) -> str:
    words = ", ".join(sorted(option.opts, key=len))
    shown = f"{words} {option.metavar}" if option.metavar else words
    meaning = _FLAG.sub(r"`\1`", _cell(option.help or ""))
    return f"| `{_cell(shown)}` | {meaning} |\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def renewed(page: str) -> str:
    """The page with its generated parts as they should be."""
    known = dict(commands())
    for path, command in known.items():
        own = [param for param in command.params if not isinstance(param, GlobalFlag)]
        match = _find(page, path)
        if match is None:
            page = page.rstrip("\n") + f"\n\n## {path}\n\n{usage(path, command)}"
            match = _find(page, path)
            assert match is not None, "it was written just now"
        groups = command.groups if isinstance(command, VerbCommand) else {}
        body = _with_table(_with_usage(match[2], usage(path, command)), table(own, groups))
        page = page[: match.start(2)] + body + page[match.end(2) :]
    match = _find(page, GLOBAL)
    assert match is not None, f"docs/cli.md has a section {GLOBAL}"
    return page[: match.start(2)] + _with_table(match[2], table(global_flags())) + page[match.end(2) :]


def _find(page: str, title: str) -> re.Match[str] | None:
    return next((match for match in _SECTION.finditer(page) if match[1] == title), None)


def _with_usage(body: str, shown: str) -> str:
    if _USAGE.search(body):
        return _USAGE.sub(lambda _: shown, body, count=1)
    return f"\n{shown}{body}"


def _with_table(body: str, shown: str) -> str:
    """In the place of the table; a first one stands before the exit codes."""
    if _TABLE.search(body):
        return _TABLE.sub(lambda _: shown, body, count=1)
    if not shown:
        return body
    at = body.find("Exit codes:")
    return f"{body[:at]}{shown}\n{body[at:]}" if at >= 0 else f"{body}\n{shown}"
