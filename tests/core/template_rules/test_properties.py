"""Whatever is written, the check answers with problems that have a place, and never with an exception.

Pods are drawn from the field table itself: right types at random, wrong types at random.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.core.kinds import Json
from moorage.core.template import CheckedTemplate, TemplateOptions, check_template, schema

NAMES = st.sampled_from(
    ["agent", "side", "moorage-run", "moorage-workspace", "data", "A", "", "MOORAGE_X", "x" * 64]
)
PATHS = st.sampled_from(
    ["/workspace", "/opt/moorage", "workspace/../run/moorage", "/data", "", ":", "//", "/a/.."]
)
TEXTS = st.one_of(
    NAMES, PATHS, st.sampled_from(["agent:1", "a::b", "Always", "8765", "kubernetes.io/os", "\n"])
)
NUMBERS = st.sampled_from([0, 1, -1, 80, 8765, 65536, 2**31, 2**63, 10**30])
SCALARS = st.one_of(TEXTS, NUMBERS, st.booleans(), st.none(), st.sampled_from([0.5, 1e3, 1e300]))
RIGHT: dict[str, st.SearchStrategy[Any]] = {
    schema.BOOL: st.booleans(),
    schema.INT32: NUMBERS,
    schema.INT64: NUMBERS,
    schema.QUANTITY: st.sampled_from(["1Gi", "500m", 1, 0.5, "1GB", "9" * 5000]),
    schema.PORT: st.one_of(NUMBERS, TEXTS),
    schema.TIME: TEXTS,
    schema.ANY: SCALARS,
}


@st.composite
def of_type(draw: st.DrawFn, kind: str, values: tuple[str, ...] = (), depth: int = 0) -> Any:
    """A value for a field of the table; sometimes not at all one."""
    if draw(st.integers(0, 24)) == 0:
        return draw(st.one_of(SCALARS, st.just([]), st.just({}), st.just([None]), st.just({"x": 1})))
    if values:
        return draw(st.sampled_from(values))
    if kind in schema.LEAVES:
        return draw(RIGHT.get(kind, TEXTS))
    known = schema.fields(kind)
    required = [name for name, field in known.items() if field.required]
    optional = draw(st.lists(st.sampled_from(sorted(known)), max_size=3 if depth < 5 else 0, unique=True))
    result: Json = {}
    for name in dict.fromkeys([*required, *optional]):
        field = known[name]
        one = of_type(field.kind, field.values, depth + 1)
        many = {"[]": st.lists(one, max_size=2), "{}": st.dictionaries(TEXTS, one, max_size=2), "": one}
        result[name] = draw(many[field.container])
    return result


OPTIONS = st.builds(
    TemplateOptions,
    main_container=st.sampled_from(["agent", "side", ""]),
    platform=st.sampled_from(["linux/amd64", "linux/arm64"]),
    workspace_mode=st.sampled_from(["managed_pvc", "existing_claim", "empty_dir"]),
    transport=st.sampled_from(["auto", "portforward", "exec"]),
    helper_source=st.sampled_from(["exec", "image"]),
    refuse_policy=st.booleans(),
)


def problems_have_places(text: str, checked: CheckedTemplate) -> None:
    lines = text.split("\n")
    for problem in (*checked.errors, *checked.warnings):
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert "\n" not in problem.field + problem.message + problem.hint
        assert problem.code
        assert problem.hint


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(of_type("PodTemplateSpec"), OPTIONS)
def test_the_check_of_any_pod_is_total_and_stable(template: Any, options: TemplateOptions) -> None:
    document = {"apiVersion": "v1", "kind": "PodTemplate", "template": template}
    text = json.dumps(document, indent=1)
    checked = check_template(text, options)
    assert checked == check_template(text, options)
    assert checked.valid == (not checked.errors)
    assert (checked.template is not None) == checked.valid
    problems_have_places(text, checked)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(of_type("PodSpec"), st.sampled_from(["agent:1", "a/b@sha256:" + "0" * 64]))
def test_what_is_accepted_comes_out_as_it_went_in(drawn: Any, image: str) -> None:
    # Most drawn Pods are faulty somewhere. Each field alone is often not: those must come out unchanged.
    fields = drawn if isinstance(drawn, dict) else {}
    for name, value in fields.items():
        spec = {
            "containers": [{"name": "agent", "image": image}],
            **({name: value} if name != "containers" else {}),
        }
        text = json.dumps({"apiVersion": "v1", "kind": "PodTemplate", "template": {"spec": spec}})
        checked = check_template(text)
        if checked.valid:
            assert checked.template is not None
            assert checked.template["spec"] == without_nulls(spec)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300)))
def test_the_check_of_any_text_is_total(text: bytes | str) -> None:
    checked = check_template(text)
    assert not checked.valid
    assert all(problem.line >= 1 and problem.column >= 1 for problem in checked.errors)


WORDS = [
    "apiVersion: v1\n",
    "kind: PodTemplate\n",
    "template:\n",
    "  spec:\n",
    "    containers:\n",
    "    - name: agent\n",
]
WORDS += [
    "      image: a:1\n",
    "      env: &x\n",
    "      - {name: A, value: no}\n",
    "      <<: *x\n",
    "  metadata: {}\n",
]
WORDS += [
    "    volumes: [*x]\n",
    "      ports: [{containerPort: 8765}]\n",
    "    - *x\n",
    "---\n",
    "\t",
    "# c\n",
    "  ",
]


@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_the_check_of_shuffled_lines_is_total(lines: list[str]) -> None:
    text = "".join(lines)
    checked = check_template(text)
    assert checked.valid == (checked.errors == ())
    assert all(problem.line >= 1 and problem.column >= 1 for problem in checked.errors)


@given(st.permutations(WORDS[:7]), st.integers(0, 7))
def test_a_template_cut_short_or_shuffled_is_never_taken_for_another(order: list[str], length: int) -> None:
    whole = "".join(WORDS[:7])
    assert check_template(whole).valid
    checked = check_template("".join(order[:length]))
    # Only the order that says the same is the same.
    if checked.valid:
        assert checked.template == check_template(whole).template
