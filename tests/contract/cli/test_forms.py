"""``-o jsonpath`` and ``-o custom-columns`` print of an object what kubectl prints of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.cli.columns import columns_text, parse_columns
from moorage.cli.jsonpath import fill_in, parse
from tests.cli.paths import COLUMNS, FAILING, PATHS, POD, REFUSED

pytestmark = pytest.mark.cluster

Kubectl = Callable[..., str]


@pytest.fixture
def ask(kubectl: Kubectl, tmp_path: Path) -> Callable[[str], str]:
    """kubectl's own output of the object in one form; the object is made nowhere."""
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(POD))
    return lambda form: kubectl("create", "--dry-run=client", "-f", str(file), "-o", form)


def test_the_object_is_the_same_for_both(ask: Callable[[str], str]) -> None:
    assert json.loads(ask("json")) == POD


@pytest.mark.parametrize("template", PATHS)
def test_a_path_gives_what_kubectl_gives(ask: Callable[[str], str], template: str) -> None:
    assert fill_in(parse(template), POD) == ask(f"jsonpath={template}")


@pytest.mark.parametrize("template", [*REFUSED, *FAILING])
def test_what_is_refused_is_refused_by_kubectl(ask: Callable[[str], str], template: str) -> None:
    with pytest.raises(Exception, match=r"jsonpath|error"):
        ask(f"jsonpath={template}")


@pytest.mark.parametrize("spec", COLUMNS)
def test_columns_are_kubectls(kubectl: Kubectl, namespace: str, spec: str) -> None:
    for name in ("a", "b"):
        labels = {"app.kubernetes.io/name": "c", "tier": "front"}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        pod = {**POD, "metadata": metadata, "spec": {**POD["spec"], "nodeSelector": {"no": "node"}}}
        kubectl("create", "-f", "-", stdin=json.dumps(pod))
    get = ("get", "pods", "-n", namespace, "-o")
    items = json.loads(kubectl(*get, "json"))["items"]
    assert len(items) == 2
    assert columns_text(parse_columns(spec), items) == kubectl(*get, f"custom-columns={spec}")
