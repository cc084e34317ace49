"""Links lead somewhere: a relative one names a file that exists, and the index lists every page of docs/."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from tools.check.source import Finding, SourceFile

LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
ELSEWHERE = re.compile(r"^[a-z]+:|^…")
INDEX = "docs/README.md"


def check(files: Sequence[SourceFile]) -> Iterator[Finding]:
    paths = {file.path for file in files}
    known = paths | {posixpath.dirname(path) for path in paths}
    for file in files:
        if file.path.endswith(".md"):
            for number, target in links(file):
                if target not in known:
                    yield Finding(file.path, number, f"{target} does not exist")
    yield from unlisted(files)


def links(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Line and target, from the root of the checkout, of each link that does not leave it."""
    folder = posixpath.dirname(file.path)
    for number, line in enumerate(file.lines(), 1):
        for found in LINK.finditer(line):
            if not ELSEWHERE.match(found[1]):
                yield number, posixpath.normpath(posixpath.join(folder, found[1]))


def unlisted(files: Sequence[SourceFile]) -> Iterator[Finding]:
    """Pages directly in docs/ that its index does not name; folders have an index of their own."""
    for index in files:
        if index.path == INDEX:
            listed = {target for _, target in links(index)}
            for page in files:
                is_page = posixpath.dirname(page.path) == "docs" and page.path.endswith(".md")
                if is_page and page.path not in listed | {INDEX}:
                    yield Finding(page.path, 1, f"is not listed in {INDEX}")
