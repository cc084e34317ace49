"""A newer server's OpenAPI tells which unknown fields it knows."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.template import check_template
from moorage.core.template.openapi import known_in


def ref(name: str) -> dict[str, Any]:
    return {"allOf": [{"$ref": f"#/components/schemas/{name}"}], "default": {}}


SERVER = {
    "components": {
        "schemas": {
            "io.k8s.api.core.v1.PodTemplate": {"properties": {"template": ref("Template")}},
            "Template": {"properties": {"spec": {"$ref": "#/components/schemas/Spec"}}},
            "Spec": {
                "properties": {"containers": {"type": "array", "items": ref("Container")}, "tomorrow": {}}
            },
            "Container": {
                "properties": {
                    "later": {"type": "string"},
                    "limits": {"type": "object", "additionalProperties": ref("Limit")},
                }
            },
            "Limit": {"properties": {"soft": {"type": "string"}}},
        }
    }
}


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("template.spec.tomorrow", True),
        ("template.spec.containers[3].later", True),
        ("template.spec.containers[0].limits[a.b/c].soft", True),
        ("template.spec.containers[0].limits[a.b/c].hard", False),
        ("template.spec.yesterday", False),
        ("template.spec.tomorrow.deeper", False),
        ("template.spec[0]", False),
        ("spec.tomorrow", False),
        ("", False),
    ],
)
def test_a_field_is_known_where_the_server_has_it(path: str, known: bool) -> None:
    assert known_in(SERVER)(path) is known


@pytest.mark.parametrize("openapi", [{}, {"components": None}, {"components": {"schemas": {}}}])
def test_a_server_that_says_nothing_knows_nothing(openapi: dict[str, Any]) -> None:
    assert known_in(openapi)("template.spec.tomorrow") is False


def test_a_template_with_a_newer_field_is_valid_against_the_newer_server() -> None:
    spec = "{containers: [{name: agent, image: a:1, later: x}]}"
    text = f"apiVersion: v1\nkind: PodTemplate\ntemplate: {{spec: {spec}}}\n"
    assert not check_template(text).valid
    checked = check_template(text, known_elsewhere=known_in(SERVER))
    assert checked.valid
    assert [problem.code for problem in checked.warnings] == ["unknown_here"]
