"""docs/rest.md lists the routes that there are."""

from __future__ import annotations

from pathlib import Path

from tools.docs.rest import renewed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rest.md"


def test_the_page_has_the_routes_of_the_code() -> None:
    page = PAGE.read_text()
    assert "| `/tasks` | POST |" in page
    assert renewed(page) == page, "run: ./dev docs"
