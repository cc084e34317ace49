"""An unquoted scalar is what kubectl would take it for, form by form.

The answers in scalars.json are those of kubectl's own YAML library (tools/schema/scalars).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moorage.core.document.nodes import Mapping, Scalar
from moorage.core.document.read import read_document

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "scalars.json").read_text())


def read(source: str) -> tuple[Mapping | None, list[str]]:
    document = read_document(f"key: {source}\n")
    return document.root, [problem.code for problem in document.problems]


@pytest.mark.parametrize("vector", VECTORS, ids=[repr(vector["source"]) for vector in VECTORS])
def test_a_scalar_is_what_kubectl_takes_it_for(vector: dict[str, Any]) -> None:
    root, codes = read(vector["source"])
    if "error" in vector:
        assert codes, "kubectl refuses it, so do we"
        return
    assert (root is not None, codes) == (True, [])
    assert root is not None
    node = root.entries["key"].value
    assert isinstance(node, Scalar)
    kubectl, ours = vector["value"], node.value
    assert type(ours) in ((int, float) if type(kubectl) in (int, float) else (type(kubectl),))
    # Beyond 64 bits kubectl's JSON rounds; so much precision is all that is promised.
    assert ours == (pytest.approx(kubectl, rel=1e-15, abs=0) if isinstance(kubectl, float | int) else kubectl)


@pytest.mark.parametrize(
    "source", ["12:30", "12:30:00", "2024-01-01", "2024-01-01T00:00:00Z", "1.5Gi", "0.0.0.0"]
)
def test_times_dates_and_quantities_are_text(source: str) -> None:
    root, codes = read(source)
    assert root is not None
    assert (root.text("key"), codes) == (source, [])


@pytest.mark.parametrize("style", ["'{}'", '"{}"', "!!str {}", "|-\n  {}", ">-\n  {}"])
@pytest.mark.parametrize("source", ["no", "0123", "1e3", "null", "~", "on"])
def test_quotes_make_text_of_anything(style: str, source: str) -> None:
    root, codes = read(style.format(source))
    assert root is not None
    assert (root.text("key"), codes) == (source, [])
