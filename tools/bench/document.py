"""Puts the tables of a run into a page, between two marks; the rest is kept. Used by ``--write``."""

from __future__ import annotations

from pathlib import Path

from tools.bench.figures import Table


def renew(page: Path, name: str, machine: dict[str, str], tables: list[Table]) -> None:
    """Replace what stands between ``<!-- bench:NAME -->`` and ``<!-- /bench:NAME -->``.

    Raises LookupError where the page has no such marks.
    """
    text = page.read_text()
    begin, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    if begin not in text or end not in text:
        raise LookupError(f"{page} has no marks {begin} and {end}")
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    about = "\n".join(["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in machine.items())])
    body = "\n\n".join([about, *(table.markdown() for table in tables if table.rows)])
    page.write_text(f"{before}{begin}\n{body}\n{end}{after}")
