"""Any text is one document with places, or problems that say where and why. Never an exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moorage.core.document.nodes import plain
from moorage.core.document.read import MAX_BYTES, read_document
from moorage.core.document.yaml_text import MAX_DEPTH
from moorage.core.errors import Problem


def value(text: bytes | str) -> Any:
    document = read_document(text)
    assert (document.root is not None, document.problems) == (True, [])
    assert document.root is not None
    return plain(document.root)


def only_problem(text: bytes | str) -> Problem:
    problems = read_document(text).problems
    assert len(problems) == 1, problems
    return problems[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n", {"a": 1}),
        ("a: 1", {"a": 1}),
        ("\ufeffa: 1\n", {"a": 1}),
        (b"\xef\xbb\xbfa: 1\n", {"a": 1}),
        ("a: 1\r\nb:\r\n- x\r\n", {"a": 1, "b": ["x"]}),
        ("---\na: 1\n---\n", {"a": 1}),
        ("---\n---\n# nothing\n---\na: 1\n...\n", {"a": 1}),
        ("%YAML 1.1\n---\na: 1\n", {"a": 1}),
        ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("k: [&x {a: 1}, &z {a: 2, b: 2}]\nm: {<<: [*x, *z]}\n", {"k": [{"a": 1}, {"a": 2, "b": 2}], "m": {"a": 1, "b": 2}}),  # noqa: E501
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("a: |-\n  x\n  y\nb: >+\n  z\n\n", {"a": "x\ny", "b": "z\n\n"}),
        ('{"a": [1, "x", null, true, 1.5e3, {}]}', {"a": [1, "x", None, True, 1500.0, {}]}),
        ('\n  {"a": "\\u00e9\\n"}\n', {"a": "é\n"}),
        ('\ufeff{"a":\t1}', {"a": 1}),
        ('{"a": "no"}', {"a": "no"}),
        ("a: {b: [1, 2]}\n", {"a": {"b": [1, 2]}}),
        ('"<<": 1\n', {"<<": 1}),
        ("🐳: é\n", {"🐳": "é"}),
    ],
)  # fmt: skip
def test_one_document_is_read_as_kubectl_reads_it(text: bytes | str, expected: Any) -> None:
    assert value(text) == expected


def deep(levels: int) -> str:
    return "a: " + "[" * levels + "]" * levels


def chained_aliases(levels: int) -> str:
    links = (f"a{number + 1}: &a{number + 1} [*a{number}]\n" for number in range(levels))
    return "a0: &a0 [x]\n" + "".join(links)


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [" + "x, " * 9 + "x]\n"]
    lines += [f"a{n + 1}: &a{n + 1} [" + ", ".join([f"*a{n}"] * 10) + "]\n" for n in range(levels)]
    return "".join(lines)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("", "empty_document", 1, 1),
        ("# only a comment\n", "empty_document", 1, 1),
        ("---\n---\n", "empty_document", 1, 1),
        ("null\n", "empty_document", 1, 1),
        ("a: 1\n---\nb: 2\n", "many_documents", 3, 1),
        ('{"a": 1}\n{"b": 2}\n', "many_documents", 2, 1),
        ("- a\n", "not_a_mapping", 1, 1),
        ("just text\n", "not_a_mapping", 1, 1),
        ("a:\n\tb: 1\n", "yaml_tab", 2, 1),
        ("a:\n  b: 1\n\tc: 2\n", "yaml_tab", 3, 1),
        ("a: b: c\n", "yaml_syntax", 1, 5),
        ("a: [1, 2\n", "yaml_syntax", 2, 1),
        ("a: 'open\n", "yaml_syntax", 2, 1),
        ("a: @x\n", "yaml_syntax", 1, 4),
        ("a: 1\na: 2\n", "duplicate_key", 2, 1),
        ("a:\n  b: {c: 1, c: 2}\n", "duplicate_key", 2, 13),
        ('{"a": {"b": 1,\n "b": 2}}', "duplicate_key", 2, 2),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  <<: *x\n", "duplicate_key", 4, 3),
        ("on: 1\n", "bad_key", 1, 1),
        ("a: {8080: x}\n", "bad_key", 1, 5),
        ("? [a]\n: b\n", "bad_key", 1, 3),
        ("a: !!python/object:os.system x\n", "yaml_tag", 1, 4),
        ("a: !!binary aGk=\n", "yaml_tag", 1, 4),
        ("a: !secret x\n", "yaml_tag", 1, 4),
        ("a: !!set {b}\n", "yaml_tag", 1, 4),
        ("a: !!int x\n", "yaml_tag", 1, 4),
        ("a: *nobody\n", "yaml_alias", 1, 4),
        ("a: &a [*a]\n", "yaml_alias", 1, 8),
        ("a: &a {<<: *a}\n", "yaml_alias", 1, 12),
        ("a:\n  <<: [1]\n", "yaml_merge", 2, 8),
        ("x: &x {b: 1}\na:\n  b: 2\n  <<: *x\n", "yaml_merge", 3, 3),
        ("a: .nan\n", "bad_value", 1, 4),
        ('{"a": 1e999}', "bad_value", 1, 7),
        (deep(MAX_DEPTH), "too_deep", 1, 3 + MAX_DEPTH),
        (deep(900), "too_deep", 1, 3 + MAX_DEPTH),
        ('{"a":' * 100_000, "too_large", 1, 1),
        ('{"a":' * 10_000, "too_deep", 1, 5 * MAX_DEPTH + 1),
        (chained_aliases(1000), "too_deep", 63, 6),
        (bomb(9), "too_large", 4, 5),
        ("a: " + "x" * MAX_BYTES, "too_large", 1, 1),
        ("a: " + "é" * (MAX_BYTES // 2), "too_large", 1, 1),
        (b"a: \xff\n", "encoding", 1, 4),
        ("a: é\n".encode() + b"b: \xc3", "encoding", 2, 4),
        ("a: 1\n".encode("utf-16"), "encoding", 1, 1),
        ("a: 1\n".encode("utf-16-be"), "encoding", 1, 1),
        ("a: \ud800\n", "encoding", 1, 4),
        ("a: 1\nb: \x00\n", "control_character", 2, 4),
        ("a: \x1b[31m\n", "control_character", 1, 4),
        ('{"a": "\x7f"}', "control_character", 1, 8),
        ("{a: 1}\n", "json_syntax", 1, 2),
        ('{"a": 1,}', "json_syntax", 1, 9),
        ('{"a": [1,]}', "json_syntax", 1, 10),
        ('{"a": 01}', "json_syntax", 1, 8),
        ('{"a": tru}', "json_syntax", 1, 7),
        ('{"a" 1}', "json_syntax", 1, 6),
        ('{"a": "open', "json_syntax", 1, 7),
        ('{"a": "b\nc"}', "json_syntax", 1, 9),
        ('{"a": "\\x"}', "json_syntax", 1, 8),
        (r'{"a": "b\ud800c"}', "lone_surrogate", 1, 7),
        (r'{"a": 1, "\udc00\ud800": 2}', "lone_surrogate", 1, 10),
        ("{", "json_syntax", 1, 2),
        ('{"a":', "json_syntax", 1, 6),
    ],
)  # fmt: skip
def test_a_text_that_is_no_document_says_where_and_why(
    text: bytes | str, code: str, line: int, column: int
) -> None:
    problem = only_problem(text)
    assert (problem.code, problem.line, problem.column) == (code, line, column)
    assert problem.message
    assert problem.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c\n", "a ':' stands where no field can be"),
        ("a:\n  b: 1\n c: 2\n", "this fits no field of the mapping begun on line 1"),
        ("x: 1\na: [1,\n  2\nb: 3\n", "the list opened with [ on line 2 needs a ',' or ']' here"),
        ("x: 1\na: {b: 1\n", "the mapping opened with { on line 2 needs a ',' or '}' here"),
        ("a: [1,,2]\n", "a value is missing here"),
        ("x: 1\na: 'it\nb: 2\n", "the quote opened on line 2 is never closed"),
        ('a: "\\q"\n', "this is no escape sequence of double quotes"),
        ("a: @x\n", "a value cannot start with this character"),
        ("a: |x\n  b\n", "a block scalar starts with | or > and a line break"),
        ("- a\nb: 1\n", "this is no item of the list begun on line 1"),
        ("a: &\n", "a name must follow &"),
        ("a: *\n", "a name must follow *"),
        ("a: ]\n", "a value is missing here"),
        ("a: 1\n...\nb\n", "there is text after the end of the document"),
        ("%YAML 3.0\n---\na: 1\n", "this is not YAML"),
    ],
)
def test_a_syntax_error_is_told_in_plain_words(text: str, message: str) -> None:
    problem = only_problem(text)
    assert (problem.code, problem.message) == ("yaml_syntax", message)


def test_a_duplicate_key_names_both_lines_and_its_path() -> None:
    problem = only_problem("a:\n- b: 1\n  c: 2\n  b: 3\n")
    assert problem.field == "a[0].b"
    assert problem.message == "b stands twice: on line 2 and on line 4"


def test_every_duplicate_is_reported() -> None:
    problems = read_document("a: 1\na: 2\nb: {c: 1, c: 2}\na: 3\n").problems
    assert [(problem.field, problem.line) for problem in problems] == [("a", 2), ("b.c", 3), ("a", 4)]


def test_the_largest_allowed_document_is_read() -> None:
    assert value("a: " + "x" * (MAX_BYTES - 3)) == {"a": "x" * (MAX_BYTES - 3)}


def test_a_tag_constructs_nothing() -> None:
    document = read_document("a: !!python/object/apply:os.getcwd []\nb: 1\n")
    assert [problem.code for problem in document.problems] == ["yaml_tag"]
    assert document.root is not None
    assert plain(document.root) == {"a": [], "b": 1}


PIECES = st.sampled_from(
    [
        *[
            "a",
            "b",
            ":",
            " ",
            "\n",
            "- ",
            "  ",
            "{",
            "}",
            "[",
            "]",
            ",",
            "&x ",
            "*x",
            "<<",
            "!!int ",
            "!t ",
            "|",
        ],
        *[">-", "'", '"', "#", "?", "---\n", "...\n", "%YAML 1.1\n", "\t", "\r\n", "no", "1e3", "~", "\\"],
        *["\ufeff", "\x00", "é"],
    ]
)


def test_absurd_nesting_ends_early() -> None:
    assert only_problem(deep(100_000)).code == "too_deep"
    assert only_problem("a: " + "{b: " * 50_000).code == "too_deep"
    assert only_problem("".join(" " * level + "a:\n" for level in range(300))).code == "too_deep"


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200), st.lists(PIECES, max_size=60).map("".join)))
@example(b"")
@example('{"a": {"a": 1, "a": [}')
def test_reading_is_total(text: bytes | str) -> None:
    document = read_document(text)
    assert document.root is not None or document.problems
    size = len(text) + 2
    for problem in document.problems:
        assert 1 <= problem.line <= size
        assert 1 <= problem.column <= size
        assert problem.code
        assert problem.message


KEYS = st.text("abcxyz", min_size=1)
PRINTABLE = st.characters(codec="utf-8", exclude_characters="\x7f", exclude_categories=["C"])
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(PRINTABLE)
JSON_VALUES = st.recursive(
    LEAVES | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, JSON_VALUES, max_size=5))
def test_json_is_read_as_what_it_says(expected: dict[str, Any]) -> None:
    assert value(json.dumps(expected)) == expected
    assert value(json.dumps(expected, indent=1, ensure_ascii=False)) == expected
