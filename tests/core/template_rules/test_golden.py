"""Each bad template is refused with exactly the problems the golden file lists: all, in document order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.core.errors import DocumentError, Problem
from moorage.core.template import TemplateOptions, check_template, parse_template

GOLDEN = Path(__file__).parents[1] / "golden" / "bad_templates.yaml"
CASES: list[dict[str, Any]] = yaml.safe_load(GOLDEN.read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_bad_template_is_refused_with_all_its_problems(case: dict[str, Any]) -> None:
    checked = check_template(case["document"], TemplateOptions(**case.get("options", {})))
    assert not checked.valid
    assert checked.template is None
    assert checked.additions == ()
    assert list(checked.errors) == [Problem(**row) for row in case["problems"]]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_problem_of_a_bad_template_can_be_found_and_mended(case: dict[str, Any]) -> None:
    document = case["document"]
    lines = document.count("\n" if isinstance(document, str) else b"\n") + 1
    for row in case["problems"]:
        assert 1 <= row["line"] <= lines
        assert row["column"] >= 1
        assert row["hint"], "a hint says what to do next"
    places = [(row["line"], row["column"]) for row in case["problems"]]
    assert places == sorted(places)


def test_the_golden_file_holds_many_different_cases() -> None:
    assert len({case["document"] for case in CASES}) >= 60
    assert len({case["name"] for case in CASES}) == len(CASES)


def test_a_caller_that_needs_a_valid_template_gets_every_problem_in_the_error() -> None:
    case = next(case for case in CASES if case["name"].startswith("many faults"))
    with pytest.raises(DocumentError) as caught:
        parse_template(case["document"])
    assert caught.value.problems == [Problem(**row) for row in case["problems"]]
    assert caught.value.message == (
        "line 6: template.metadata.name: name is set by Moorage or the cluster for each session (and 6 more)"
    )
    assert caught.value.hint == case["problems"][0]["hint"]


def test_a_variable_s_value_is_never_repeated_in_a_problem() -> None:
    secret = "8675309867"
    document = next(case for case in CASES if case["name"] == "octal number in a variable")["document"]
    problems = check_template(document.replace("0123", secret)).errors
    assert [problem.code for problem in problems] == ["not_text"]
    assert secret not in repr(problems)
