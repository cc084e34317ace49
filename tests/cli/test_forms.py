"""``-o jsonpath=…`` and ``-o custom-columns=…``: what each template makes of an object."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from moorage.cli.columns import columns_text, parse_columns
from moorage.cli.forms import parse_form, to_yaml
from moorage.cli.jsonpath import BadTemplate, PathFailed, fill_in, parse
from moorage.core.errors import UsageError
from moorage.ports.sessions import Check
from moorage.ports.store import SessionEvent
from tests.cli.harness import Cli
from tests.cli.paths import COLUMNS, FAILING, PATHS, POD, REFUSED
from tests.cli.scripted_views import make_view


@pytest.mark.parametrize(("template", "text"), PATHS.items(), ids=list(PATHS))
def test_a_template_gives_its_text(template: str, text: str) -> None:
    assert fill_in(parse(template), POD) == text


@pytest.mark.parametrize("template", [*REFUSED, "{range .a[*]}{.b}", "{.a[]}", "{.a[?(@.b=~1)]}"])
def test_a_template_with_a_fault_is_refused_with_its_place(template: str) -> None:
    with pytest.raises(BadTemplate, match=r"^at character \d+: "):
        parse(template)


@pytest.mark.parametrize("template", FAILING)
def test_a_path_that_does_not_fit_the_object_says_so(template: str) -> None:
    with pytest.raises(PathFailed):
        fill_in(parse(template), POD)


@pytest.mark.parametrize(("spec", "text"), COLUMNS.items(), ids=list(COLUMNS))
def test_columns_are_as_wide_as_kubectls(spec: str, text: str) -> None:
    assert columns_text(parse_columns(spec), [POD]) == text


@pytest.mark.parametrize("spec", ["", "NAME", "NAME:", "NAME:{.a}{.b}", "NAME:.a[", "A:.a,,B:.b"])
def test_columns_with_a_fault_are_refused(spec: str) -> None:
    with pytest.raises(BadTemplate):
        parse_columns(spec)


NULLS = {"items": [{"name": "a", "why": None}, {"name": "b", "why": "full"}, {"name": "c"}]}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.items[*].why}", "null full"),
        ("{.items[?(@.why=='full')].name}", "b"),
        ("{.items[?(@.why!='full')].name}", "a"),
        ("{.items[?(@.why>'a')].name}", "b"),
        ("{.items[0].why.deeper}", ""),
        ("{.items[?(@.why)].name}", "a b"),
    ],
)
def test_null_equals_only_null_and_has_no_order(template: str, text: str) -> None:
    assert fill_in(parse(template), NULLS) == text


@given(st.text(alphabet="{}[]()?@$.*:,'\"\\ ab1-<=!\n", max_size=30))
def test_any_template_is_taken_or_refused_and_never_breaks(text: str) -> None:
    try:
        template = parse(text)
        fill_in(template, POD)
    except (BadTemplate, PathFailed):
        return
    assert "{" not in text or template != ()


@given(st.text(alphabet="abc \t/=é", min_size=1))
def test_text_without_braces_is_itself(text: str) -> None:
    assert fill_in(parse(text), POD) == text


FORMS = [("", "no form"), ("xml", "no form"), ("json=x", "no form"), ("jsonpath", "lacks its template")]
FORMS += [("jsonpath={.a", "cannot be read"), ("custom-columns=", "lacks"), ("custom-columns=A", "no column")]


@pytest.mark.parametrize(("text", "said"), FORMS, ids=[text for text, _ in FORMS])
def test_a_form_that_is_none_is_a_usage_error(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_form(text)


SHOWN: dict[str, tuple[tuple[str, ...], str]] = {
    "ls": (("ls",), "{.items[*].name}"),
    "describe": (("describe", "brisk-otter"), "{.name}"),
    "events": (("events", "brisk-otter"), "{.items[?(@.object=='brisk-otter')].message}"),
    "doctor": (("doctor",), "{.steps[?(@.status=='ok')].key}"),
    "stop": (("stop", "brisk-otter"), "{.items[0].name}"),
    "version": (("version",), "{.client.version}"),
    "rm": (("rm", "brisk-otter", "--dry-run"), "{.items[*].deletes[0]}"),
    "template": (("template", "check", "FILE"), "{.valid}"),
}
EXPECTED = {
    "ls": "brisk-otter",
    "describe": "brisk-otter",
    "events": "at last",
    "doctor": "server",
    "stop": "brisk-otter",
    "version": "0.1.0",
    "rm": "pod/moorage-brisk-otter (uid pod-uid)",
    "template": "true",
}


@pytest.mark.parametrize("verb", SHOWN)
def test_every_verb_that_prints_objects_prints_them_by_template(cli: Cli, verb: str) -> None:
    cli.verbs.checks = [Check("server", "ok", "fine")]
    cli.verbs.history = [SessionEvent(1.0, "Ended", "at last", "brisk-otter")]
    argv, template = SHOWN[verb]
    words = [str(cli.template) if word == "FILE" else word for word in argv]
    result = cli(*words, "-o", f"jsonpath={template}")
    assert (result.code, result.text) == (0, EXPECTED[verb])


def test_a_list_is_a_row_for_each_and_one_object_is_one_row(cli: Cli) -> None:
    cli.verbs.views = [make_view("b-two", created_at=1.0), make_view("a-one", created_at=2.0)]
    columns = "custom-columns=WHO:.name,EXIT:.agent.exit.code"
    table = "WHO     EXIT\n{}"
    rows = {name: f"{name}   <none>\n" for name in ("a-one", "b-two")}
    assert cli("ls", "-o", columns).text == table.format(rows["a-one"] + rows["b-two"])
    assert cli("describe", "b-two", "-o", columns).text == table.format(rows["b-two"])


def test_a_bad_template_is_told_before_anything_is_asked(cli: Cli) -> None:
    result = cli("stop", "brisk-otter", "-o", "jsonpath={.a")
    assert (result.code, cli.verbs.calls) == (2, [])
    assert "at character 4: a brace is not closed" in result.err


def test_a_template_that_does_not_fit_is_no_usage_error(cli: Cli) -> None:
    result = cli("ls", "-o", "jsonpath={.items[7].name}")
    assert (result.code, result.out) == (1, b"")
    assert "there is no item 7 in a list of 1" in result.err


def test_objects_of_kubernetes_have_names_with_their_kind(cli: Cli) -> None:
    objects: list[dict[str, Any]] = [{"kind": "Pod", "metadata": {"name": "moorage-a"}}]
    cli.verbs.objects = objects
    assert cli.run("--dry-run", "-o", "name").text == "pod/moorage-a\n"
    assert cli.run("--dry-run", "-o", "jsonpath={.items[*].metadata.name}").text == "moorage-a"


@pytest.mark.parametrize("text", ["1e3", "y", "Off", "~", "0x1f", "017", "1_000", ".5", "+1", "null", "yes"])
def test_yaml_quotes_a_text_that_kubectl_would_read_as_something_else(text: str) -> None:
    assert to_yaml({"a": text}) == f"a: '{text}'\n"
    assert to_yaml({text: 1}).startswith(f"'{text}'")


@given(st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3))
def test_yaml_gives_back_what_it_was_given(value: dict[str, str]) -> None:
    assert yaml.safe_load(to_yaml(value)) == value
