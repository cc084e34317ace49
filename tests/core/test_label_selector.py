"""Label selectors: what each chooses, as Kubernetes documents it, and what is none."""

from __future__ import annotations

import pytest

from moorage.core.errors import UsageError
from moorage.core.label_selector import parse

WEB = {"app": "web", "tier": "front", "weight": "3"}


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ("app=web", True),
        ("app==web", True),
        ("app=api", False),
        ("app!=api", True),
        ("missing!=x", True),
        ("missing=", False),
        ("app in (web, api)", True),
        ("app notin (web)", False),
        ("missing notin (web)", True),
        ("tier", True),
        ("!tier", False),
        ("!missing", True),
        ("weight>2", True),
        ("weight<3", False),
        ("tier>2", False),
        ("app=web,tier=front", True),
        ("app=web, !tier", False),
        (" app = web ", True),
    ],
)
def test_it_chooses_by_labels(selector: str, chosen: bool) -> None:
    fits = parse(selector)
    assert fits is not None
    assert fits(WEB) is chosen


def test_an_empty_one_chooses_everything() -> None:
    assert parse("") is None


@pytest.mark.parametrize("selector", ["app=web tier", "=x", "app in web", ",", "a=b=c", "()"])
def test_what_is_none_is_refused_with_the_forms_there_are(selector: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(selector)
    assert "KEY=VALUE" in refused.value.hint
