"""The forms of data that ``-o`` can ask for: read from the command line, and objects put into them. Pure.

``cli.flags`` reads a form, ``cli.output`` prints in it. Tables for people are made by each verb.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from moorage.core.errors import MoorageError, UsageError

Object = dict[str, Any]
Render = Callable[[Object, Sequence[Object]], str]

WORDS: Final = ("table", "wide", "json", "yaml", "name")
"""Forms that are one word; settings hold only these."""
TEMPLATES: Final = ("jsonpath", "custom-columns")
"""Forms that are followed by ``=`` and a template."""


@dataclass(frozen=True)
class Form:
    """``kind`` is one of WORDS or TEMPLATES; ``render`` (whole, items) makes the text of a template."""

    kind: str
    render: Render | None = field(default=None, repr=False)


def parse_form(text: str) -> Form:
    """Raises UsageError with what is wrong in a template, and where."""
    kind, equals, template = text.partition("=")
    if kind in WORDS and not equals:
        return Form(kind)
    if kind not in TEMPLATES:
        raise UsageError(
            f"{text!r} is no form of output",
            field="-o",
            hint=f"use one of {', '.join(WORDS)}, {', '.join(f'{word}=…' for word in TEMPLATES)}",
        )
    if not template:
        raise UsageError(
            f"-o {kind} lacks its template",
            field="-o",
            hint="e.g. -o jsonpath='{.items[*].name}', or -o custom-columns=NAME:.name,STATUS:.status",
        )
    return Form(kind, _jsonpath(template) if kind == "jsonpath" else _columns(template))


def _jsonpath(template: str) -> Render:
    from moorage.cli.jsonpath import BadTemplate, fill_in, parse

    try:
        parsed = parse(template)
    except BadTemplate as error:
        raise _bad("jsonpath", error) from None
    return lambda whole, items: _applied("jsonpath", lambda: fill_in(parsed, whole))


def _columns(template: str) -> Render:
    from moorage.cli.columns import columns_text, parse_columns
    from moorage.cli.jsonpath import BadTemplate

    try:
        columns = parse_columns(template)
    except BadTemplate as error:
        raise _bad("custom-columns", error) from None
    return lambda whole, items: _applied("custom-columns", lambda: columns_text(columns, items))


def _bad(kind: str, error: ValueError) -> UsageError:
    return UsageError(
        f"the template of -o {kind} cannot be read: {error}",
        field="-o",
        hint="quote it for the shell, e.g. -o jsonpath='{.items[*].name}'; docs/cli.md shows the dialect",
    )


def _applied(kind: str, fill: Callable[[], str]) -> str:
    from moorage.cli.jsonpath import PathFailed

    try:
        return fill()
    except PathFailed as error:  # no usage error: whatever was asked for is done
        raise MoorageError(
            f"the template of -o {kind} does not fit: {error}",
            field="-o",
            hint="-o json shows what there is to choose from",
        ) from None


def render(form: Form, whole: Object, items: Sequence[Object], human: Callable[[], str]) -> str:
    """``whole`` as JSON, YAML or by template; names of ``items``; else what ``human`` makes."""
    if form.render is not None:
        return form.render(whole, items)
    if form.kind == "json":
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    if form.kind == "yaml":
        return to_yaml(whole)
    if form.kind == "name":
        return "".join(f"{_name(item)}\n" for item in items)
    return human()


def _name(item: Object) -> str:
    """Of an object of ours; of one of Kubernetes with its kind."""
    if "name" in item:
        return str(item["name"])
    return f"{str(item['kind']).lower()}/{item['metadata']['name']}"


def to_yaml(value: Any) -> str:
    """YAML with keys in their order. A text that kubectl's reader takes for something else when it stands
    without quotes (``1e3``, ``y``) gets them: PyYAML knows another YAML."""
    import yaml

    from moorage.core.document.scalars import resolve_plain

    class Dumper(yaml.SafeDumper):
        """Writes what kubectl reads."""

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        quoted = bool(text) and not isinstance(resolve_plain(text), str)
        style = "'" if quoted else None
        if not text.replace("\n", "").replace("\t", "").isprintable():
            style = (
                '"'  # with escapes: as they are, some would be read as blanks, and others drive a terminal
            )
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False)
