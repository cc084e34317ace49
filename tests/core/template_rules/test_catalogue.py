"""Templates seen in the wild (docs/cases.md): accepted as written, or refused with path, line and hint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.core.document.read import read_document
from moorage.core.errors import Problem
from moorage.core.template import TemplateOptions, check_template, schema

GOLDEN = Path(__file__).parents[1] / "golden"
ACCEPTED: list[dict[str, Any]] = yaml.safe_load((GOLDEN / "catalogue_accepted.yaml").read_text())
REFUSED: list[dict[str, Any]] = yaml.safe_load((GOLDEN / "catalogue_refused.yaml").read_text())


def ids(cases: list[dict[str, Any]]) -> list[str]:
    return ["case {}: {}".format(*case["name"].split(" ", 1)) for case in cases]


def as_written(case: dict[str, Any]) -> Any:
    """The template by another reader of YAML, in the form that a launch keeps."""
    if "template" in case:
        return case["template"]
    template = yaml.safe_load(case["document"])["template"]
    metadata = template.get("metadata", {})
    kept = {part: metadata.get(part, {}) for part in ("labels", "annotations")}
    return {"metadata": kept, "spec": template["spec"]}


@pytest.mark.parametrize("case", ACCEPTED, ids=ids(ACCEPTED))
def test_a_shape_from_the_wild_is_accepted_as_it_is_written(case: dict[str, Any]) -> None:
    checked = check_template(case["document"], TemplateOptions(**case.get("options", {})))
    assert checked.errors == ()
    assert [problem.code for problem in checked.warnings] == case.get("warnings", [])
    assert checked.template == as_written(case)


@pytest.mark.parametrize("case", REFUSED, ids=ids(REFUSED))
def test_a_shape_that_is_no_template_of_ours_is_refused_with_path_line_and_hint(case: dict[str, Any]) -> None:
    checked = check_template(case["document"], TemplateOptions(**case.get("options", {})))
    assert (checked.valid, checked.template) == (False, None)
    assert list(checked.errors) == [Problem(**row) for row in case["problems"]]
    assert all(problem.field and problem.hint for problem in checked.errors)


def mappings(node: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, value in node.value:
            yield from mappings(value)
    if isinstance(node, yaml.SequenceNode):
        for part in node.value:
            yield from mappings(part)


EVERY_DEPTH = yaml.safe_dump(yaml.safe_load(ACCEPTED[5]["document"]), sort_keys=False)
BLOCKS = [node for node in mappings(yaml.compose(EVERY_DEPTH)) if not node.flow_style]


@pytest.mark.parametrize("node", BLOCKS, ids=[f"case 137: line {n.start_mark.line + 1}" for n in BLOCKS])
def test_a_key_that_stands_twice_is_refused_at_any_depth_with_both_lines(node: yaml.MappingNode) -> None:
    key, after = node.value[0][0], node.end_mark.line
    lines = EVERY_DEPTH.splitlines()
    lines.insert(after, " " * node.start_mark.column + f"{key.value}: again")
    (problem,) = read_document("\n".join(lines) + "\n").problems
    said = f"{key.value} stands twice: on line {key.start_mark.line + 1} and on line {after + 1}"
    assert (problem.code, problem.message, problem.line) == ("duplicate_key", said, after + 1)
    assert "keep one of the two" in problem.hint


@pytest.mark.parametrize("form", ["block", "flow", "JSON"])
def test_case_138_of_a_key_that_stands_twice_neither_value_is_taken(form: str) -> None:
    container = {
        "block": "- name: agent\n        image: one:1\n        image: two:1",
        "flow": "- {name: agent, image: one:1, image: two:1}",
    }
    text = "apiVersion: v1\nkind: PodTemplate\ntemplate:\n  spec:\n    containers:\n      "
    text += container.get(form, "")
    if form == "JSON":
        text = '{"apiVersion": "v1", "kind": "PodTemplate", "template": {"spec": {"containers": '
        text += '[{"name": "agent", "image": "one:1", "image": "two:1"}]}}}'
    checked = check_template(text)
    assert checked.template is None
    assert [(problem.code, problem.hint) for problem in checked.errors] == [
        ("duplicate_key", "keep one of the two, or merge their contents")
    ]


def flags(kind: str) -> list[str]:
    """The fields of a type that are true or false and no author is kept from."""
    return [
        name
        for name, field in schema.fields(kind).items()
        if field.kind == schema.BOOL and not field.container
    ]


FLAGS = [("PodSpec", name) for name in flags("PodSpec")]
FLAGS += [("Container", name) for name in flags("Container")]
FLAGS += [("SecurityContext", name) for name in flags("SecurityContext")]
SPELLINGS: list[tuple[str, Any]] = [
    ("false", False),
    ("no", False),
    ("off", False),
    ("true", True),
    ('"false"', "wrong_type"),
    ("'no'", "wrong_type"),
    ("0", "wrong_type"),
    ("null", None),
]


def with_flag(kind: str, name: str, spelling: str) -> str:
    there = {"PodSpec": "", "Container": "", "SecurityContext": "", kind: f"{name}: {spelling}, "}
    return (
        "apiVersion: v1\nkind: PodTemplate\n"
        f"template: {{spec: {{{there['PodSpec']}containers: [{{{there['Container']}"
        f"securityContext: {{{there['SecurityContext']}}}, name: agent, image: 'bot:1'}}]}}}}\n"
    )


@pytest.mark.parametrize("spelling", SPELLINGS, ids=[spelling for spelling, _ in SPELLINGS])
@pytest.mark.parametrize(("kind", "name"), FLAGS, ids=[f"case 145: {kind}.{name}" for kind, name in FLAGS])
def test_a_flag_is_what_is_written_and_what_is_no_flag_is_refused(
    kind: str, name: str, spelling: tuple[str, Any]
) -> None:
    said, meant = spelling
    checked = check_template(with_flag(kind, name, said))
    if meant == "wrong_type":
        assert [(p.code, p.field.rsplit(".", 1)[1], p.line) for p in checked.errors] == [(meant, name, 3)]
        return
    assert checked.template is not None
    spec = checked.template["spec"]
    owner = {"PodSpec": spec, "Container": spec["containers"][0]}.get(kind)
    owner = spec["containers"][0]["securityContext"] if owner is None else owner
    assert owner.get(name, None) is meant
    assert (name in owner) == (meant is not None)


TRAPS = ["NO", "on", "0123", "0x1F", "1e3", "~", "1_000", "true", ".5", "+1", "-0", "0o17", ".inf", ""]
TEXTS = ["12:30:00", "2024-01-01", "1.2.3", "1,5", "0x", "nope", "1 000"]


def with_value(source: str) -> str:
    return (
        "apiVersion: v1\nkind: PodTemplate\ntemplate:\n  metadata:\n"
        f"    labels:\n      l: x\n    annotations:\n      a: {source}\n"
        "  spec:\n    containers:\n      - name: agent\n        image: bot:1\n"
        f"        env:\n          - name: V\n            value: {source}\n"
    )


@pytest.mark.parametrize("source", TRAPS, ids=[f"case 145: {source}" for source in TRAPS])
def test_what_yaml_takes_for_no_text_is_refused_in_a_variable_and_an_annotation(source: str) -> None:
    checked = check_template(with_value(source))
    assert {(problem.line, problem.field.rsplit(".", 1)[1]) for problem in checked.errors} == {
        (8, "annotations[a]"),
        (15, "value"),
    }
    quoted = check_template(with_value(json.dumps(source)))
    assert quoted.template is not None
    assert quoted.template["spec"]["containers"][0]["env"] == [{"name": "V", "value": source}]


@pytest.mark.parametrize("source", TEXTS, ids=[f"case 145: {source}" for source in TEXTS])
def test_what_kubectl_takes_for_text_is_text(source: str) -> None:
    checked = check_template(with_value(source))
    assert checked.template is not None
    assert checked.template["spec"]["containers"][0]["env"] == [{"name": "V", "value": source}]
    assert checked.template["metadata"]["annotations"] == {"a": source}


def test_no_shape_of_the_catalogue_is_left_without_a_word() -> None:
    numbers = {re.split(r"[ :]", case["name"])[0] for case in [*ACCEPTED, *REFUSED]}
    assert {f"a{n}" for n in (1, 2, 4, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25)} <= numbers
    assert {f"r{n}" for n in (1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 16, 17, 19, 20)} <= numbers
