"""What the documentation shows: its pages, their fenced blocks, and every command of ours in them.

Used by the tests beside it. Reads files of the checkout; runs nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(path for path in ROOT.glob("docs/*.md") if path.name != "design.md")],
    key=lambda path: path.name,
)
"""All but the design, which also shows what later versions will do."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_SPAN = re.compile(r"(?<!`)`((?:\./dev )?moorage [^`]+)`(?!`)")
_SHOWN = re.compile(r"(?:\$ )?(?:\./dev )?moorage ")
_PLACEHOLDERS = ("…", "[", "SHELL", "VERB", "IMAGE")
"""Signs that a line shows the form of a command and no command."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the words before it since the block before."""

    language: str
    text: str
    before: str


@dataclass(frozen=True)
class Command:
    """A command line of ours as a page shows it, without the program's name."""

    page: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.words)}"


def blocks(text: str) -> list[Block]:
    found, end = [], 0
    for match in _FENCE.finditer(text):
        found.append(Block(match[1], match[2], text[end : match.start()]))
        end = match.end()
    return found


def commands() -> Iterator[Command]:
    """Every ``moorage …`` of every page: lines of fenced blocks, and code within a sentence. What stands in a
    ``console`` block is run as it is (``shown``), faults and all."""
    for path in PAGES:
        text = path.read_text()
        for block in blocks(text):
            for line in block.text.splitlines():
                if block.language in ("sh", "text") and _SHOWN.match(line):
                    yield from _parsed(path.name, line)
        for match in _SPAN.finditer(_FENCE.sub("", text)):
            yield from _parsed(path.name, match[1])


def _parsed(page: str, line: str) -> Iterator[Command]:
    if any(sign in line for sign in _PLACEHOLDERS):
        return
    words = shlex.split(line.removeprefix("$ ").removeprefix("./dev "), comments=True)
    for operator in ("&&", "||", "|", ">", ";"):
        if operator in words:
            words = words[: words.index(operator)]
    yield Command(page, tuple(words[1:]))


@dataclass(frozen=True)
class Shown:
    """A command that a page shows with all of its output, and the files that the page has shown before."""

    page: str
    command: str
    output: str
    files: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.page}: {self.command}"


def shown() -> Iterator[Shown]:
    """``console`` blocks (``$ command``, then its output), and ``text`` blocks below a sentence that begins
    with the command. A yaml block below a sentence that ends with a file's name is that file."""
    for path in PAGES:
        files: dict[str, str] = {}
        for block in blocks(path.read_text()):
            named = re.search(r"`([\w.-]+\.yaml)`:\s*$", block.before)
            if block.language == "yaml" and named:
                files[named[1]] = block.text
            asked = re.match(r"\s*`(moorage [^`]+)` (?:prints|shows)", block.before)
            if block.language == "text" and asked:
                yield Shown(path.name, asked[1], block.text, tuple(files.items()))
            if block.language == "console":
                for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.M):
                    yield Shown(path.name, command, output, tuple(files.items()))
