"""docs/diagnoses.md says exactly what the code says, and the code uses no category beside the table."""

from __future__ import annotations

import re
from pathlib import Path

import moorage
from moorage.core.diagnosis.catalogue import CATALOGUE

ROOT = Path(__file__).parents[3]
PACKAGE = Path(moorage.__path__[0])


def test_the_page_lists_exactly_the_categories_of_the_code() -> None:
    page = (ROOT / "docs" / "diagnoses.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", page, flags=re.MULTILINE)
    assert rows == [(name, entry.meaning, entry.hint) for name, entry in CATALOGUE.items()]


def test_no_diagnosis_is_made_with_a_category_that_is_not_listed() -> None:
    used = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        used |= set(re.findall(r'\bdiagnosis\(\s*"(\w+)"', text))
        used |= set(re.findall(r'\bcategory="(\w+)"', text))
        used |= set(re.findall(r'"category": "(\w+)"', text))
    assert len(used) > 15
    assert used <= set(CATALOGUE)
