"""docs/templates.md tells the truth: its tables list every code, its outputs are what is said today."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from moorage.core.errors import Problem
from moorage.core.template import CheckedTemplate, TemplateOptions, check_template

PAGE = (Path(__file__).parents[3] / "docs" / "templates.md").read_text()
GOLDEN: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "golden" / "bad_templates.yaml").read_text()
)
POLICY = next(case for case in GOLDEN if case["name"].startswith("every risk"))
RISKS = {row["code"] for row in POLICY["problems"]}


def section(title: str) -> str:
    found = re.search(rf"^## {title}.*?(?=^## |\Z)", PAGE, re.M | re.S)
    assert found, title
    return found[0]


def codes(title: str) -> list[str]:
    return re.findall(r"^\| `(\w+)` \|", section(title), re.M)


def blocks(title: str) -> tuple[str, str]:
    """The document and the output that a section shows."""
    document, output = re.findall(r"^```(?:yaml|text)\n(.*?)^```", section(title), re.M | re.S)
    return document, output


def lines(file: str, checked: CheckedTemplate) -> list[str]:
    """What a person is told, as the page shows it."""

    def fault(word: str, problem: Problem) -> list[str]:
        place = f"{file}:{problem.line}:{problem.column}"
        said = f"{word}: {place}: {problem.field}: {problem.message} ({problem.code})"
        return [said, f"  hint: {problem.hint}"]

    told = [line for problem in checked.errors for line in fault("error", problem)]
    told += [line for problem in checked.warnings for line in fault("warning", problem)]
    return told + [f"{a.how}: {a.field} = {json.dumps(a.value)} ({a.why})" for a in checked.additions]


def test_every_code_of_a_refusal_is_documented_and_has_a_bad_template() -> None:
    found = {row["code"] for case in GOLDEN for row in case["problems"]} - RISKS
    assert codes("What is refused") == sorted(found)


def test_every_risk_is_documented() -> None:
    assert codes("Risks") == sorted(RISKS)


def test_every_mere_warning_is_documented() -> None:
    text = (
        "apiVersion: v1\nkind: PodTemplate\ntemplate: {spec: {containers: [{name: agent, image: a:1}], %s}}\n"
    )
    checked = check_template(text % "volumes: [{name: v}], tomorrow: 1", known_elsewhere=lambda path: True)
    assert codes("Only warned of") == sorted(problem.code for problem in checked.warnings)


def test_the_faulty_example_is_told_off_as_shown() -> None:
    document, output = blocks("A faulty template")
    checked = check_template(document)
    assert output.splitlines() == [
        *lines("pod.yaml", checked),
        f"pod.yaml: not valid, {len(checked.errors)} errors",
    ]


def test_the_good_example_is_added_to_as_shown() -> None:
    document, output = blocks("A template with a sidecar")
    checked = check_template(document, TemplateOptions())
    assert output.splitlines() == [*lines("two.yaml", checked), "two.yaml: valid"]
