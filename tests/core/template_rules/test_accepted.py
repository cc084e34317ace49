"""What a Pod may legally say otherwise is kept as written: shapes seen in the wild pass unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.core.template import TemplateOptions, check_template, parse_template, template_hash

ACCEPTED = Path(__file__).parents[1] / "golden" / "good_templates.yaml"
CASES: list[dict[str, Any]] = yaml.safe_load(ACCEPTED.read_text())


def document(case: dict[str, Any]) -> str:
    text: str = case["document"]
    return text


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_legal_shape_is_kept_as_written(case: dict[str, Any]) -> None:
    checked = check_template(document(case), TemplateOptions(**case.get("options", {})))
    assert checked.errors == ()
    assert [problem.code for problem in checked.warnings] == case.get("warnings", [])
    assert checked.template == case["template"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_same_template_in_json_is_the_same_template(case: dict[str, Any]) -> None:
    options = TemplateOptions(**case.get("options", {}))
    template = parse_template(document(case), options).template
    assert template is not None
    again = json.dumps({"apiVersion": "v1", "kind": "PodTemplate", "template": template}, indent=2)
    parsed = parse_template(again, options)
    assert parsed.template == template
    assert parsed.template is not None
    assert template_hash(parsed.template) == template_hash(template)


def test_a_hash_is_blind_to_spelling_and_sees_every_value() -> None:
    flow = (
        "template: {spec: {containers: [{name: agent, image: 'a:1'}]}}\napiVersion: v1\nkind: PodTemplate\n"
    )
    block = "kind: PodTemplate\napiVersion: v1\ntemplate: {spec: {containers: [{image: a:1, name: agent}]}}\n"
    one, two = parse_template("# flow\n" + flow), parse_template(block)
    assert one.template is not None
    assert two.template is not None
    assert template_hash(one.template) == template_hash(two.template)
    other = parse_template(block.replace("a:1", "a:2"))
    assert other.template is not None
    assert template_hash(other.template) != template_hash(one.template)


def test_a_hash_is_the_same_for_ever() -> None:
    # Stored in inventories: a change here would make every running session look edited.
    template = {
        "metadata": {"labels": {"é": "x"}, "annotations": {}},
        "spec": {"containers": [{"name": "agent"}]},
    }
    assert template_hash(template) == "901e16c00d665bbf04c532e07be8757cda6d4320912f3fa26d6f6cc5a75d9ed1"
