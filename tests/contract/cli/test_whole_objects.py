"""Numbers, null and whole objects in each form of ``-o``, and a watch: as kubectl prints the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moorage.cli.forms import parse_form, render, to_yaml
from moorage.cli.jsonpath import fill_in, parse

pytestmark = pytest.mark.cluster

Kubectl = Callable[..., str]

ODD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "odd", "namespace": "default"},
    "x": {
        "big": 9007199254740993,
        "minus": -5,
        "half": 0.5,
        "nothing": None,
        "empty": "",
        "no": [],
        "yes": True,
        "list": [{"n": 1}, {"n": 2}, {"n": -3}, {"m": 4}],
        "texts": ["two words", "a\tb", "line\nline", 'say "it"', "é", "<&>"],
    },
}
PATHS = (
    "{.x.big}",
    "{.x.minus}",
    "{.x.half}",
    "{.x.empty}|{.x.yes}",
    "{.x.no}",
    "{.x.no[*]}|",
    "{.x.none.deeper}|",
    "{.x.list[?(@.n>1)].n}",
    "{.x.list[?(@.n<0)].n}",
    "{.x.list[?(@.n>=1)].n}",
    "{.x.list[?(@.m)].m}",
    "{.x.list[*].n}",
    "{.x.texts[*]}",
    "{.x.texts}",
    "{range .x.list[*]}<{.n}>{end}",
)
TRICKY = {
    "word": "yes",
    "null": "null",
    "tilde": "~",
    "number": "1e3",
    "letter": "y",
    "off": "Off",
    "under": "1_000",
    "n": "the key is no, to some",
    "0x10": "the key is a number, to some",
    "hex": "0x1f",
    "octal": "017",
    "time": "2026-11-29",
    "colon": "a: b",
    "hash": "a #b",
    "dash": "- a",
    "star": "*a",
    "bang": "!!str a",
    "lines": "one\ntwo\n",
    "blank": " a ",
    "tab": "a\tb",
    "quotes": 'it\'s "so"',
    "letters": "é 漢 🙂",
    "long": "x y " * 60,
    "empty": "",
}


@pytest.fixture
def ask(kubectl: Kubectl, tmp_path: Path) -> Callable[[str], str]:
    """kubectl's own output of ODD in one form; the object is made nowhere."""
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(ODD))
    return lambda form: kubectl("create", "--dry-run=client", "--validate=false", "-f", str(file), "-o", form)


@pytest.mark.parametrize("template", PATHS)
def test_numbers_lists_and_what_is_missing_are_printed_alike(
    ask: Callable[[str], str], template: str
) -> None:
    assert fill_in(parse(template), ODD) == ask(f"jsonpath={template}")


def test_what_we_print_as_yaml_or_json_is_the_same_object_to_kubectl(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "t"}, "data": TRICKY}
    for kind in ("yaml", "json"):
        file = tmp_path / f"t.{kind}"
        file.write_text(render(parse_form(kind), made, [made], lambda: ""))
        read = json.loads(kubectl("create", "--dry-run=client", "-f", str(file), "-o", "json"))
        assert read["data"] == TRICKY
    assert to_yaml(made) == (tmp_path / "t.yaml").read_text()


def test_names_of_kubernetes_objects_are_kubectls(kubectl: Kubectl, namespace: str) -> None:
    for kind in ("ConfigMap", "ServiceAccount"):
        made = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a.b-c"}}
        kubectl("create", "-n", namespace, "-f", "-", stdin=json.dumps(made))
        named = kubectl("get", kind, "a.b-c", "-n", namespace, "-o", "name")
        assert render(parse_form("name"), made, [made], lambda: "") == named


def test_a_list_is_one_object_with_items_for_both(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "-n", namespace, "configmap", "one", "--from-literal=a=1")
    get = ("get", "configmap", "one", "kube-root-ca.crt", "-n", namespace, "-o")
    whole = json.loads(kubectl(*get, "json"))
    ours = {"kind": "List", "items": whole["items"]}
    for form in ("jsonpath={.items[*].metadata.name}", "jsonpath={.kind}"):
        assert render(parse_form(form), ours, ours["items"], lambda: "") == kubectl(*get, form)
    assert {"kind", "items"} <= set(whole)


def test_a_change_of_a_watch_has_the_keys_of_kubectls(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "-n", namespace, "configmap", "one", "--from-literal=a=1")
    watch = ("get", "configmap", "one", "-n", namespace, "-w", "--output-watch-events", "-o", "json")
    seen = kubectl(*watch, "--request-timeout=2s", check=False)
    first = json.JSONDecoder().raw_decode(seen)[0]
    assert set(first) == {"type", "object"}, "as ours: cli.output.print_change"
    assert first["type"] == "ADDED"
