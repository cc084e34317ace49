"""Of all webhooks and policies of a cluster, those are named that may have changed our object."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.kinds import CLAIMS, PODS
from moorage.core.mutators import likely_mutators

POD = {"metadata": {"name": "p", "labels": {"app.kubernetes.io/managed-by": "moorage", "tier": "a"}}}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
NAMESPACE = {"kubernetes.io/metadata.name": "ns", "mesh": "on"}


def hook(**said: Any) -> list[dict[str, Any]]:
    return [{"metadata": {"name": "configuration"}, "webhooks": [{"name": "w", "rules": [RULE], **said}]}]


def policy(**said: Any) -> list[dict[str, Any]]:
    return [{"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [RULE], **said}}}]


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("said", "fits"),
    [
        ({}, True),
        ({"rules": []}, False),
        ({"rules": [{**RULE, "resources": ["services"]}, RULE]}, True),
        ({"rules": [{**RULE, "resources": ["*"], "operations": ["*"], "apiGroups": ["*"]}]}, True),
        ({"rules": [{**RULE, "resources": ["*/*"]}]}, True),
        ({"rules": [{**RULE, "operations": ["UPDATE"]}]}, False),
        ({"rules": [{**RULE, "apiGroups": ["apps"]}]}, False),
        ({"namespaceSelector": {"matchLabels": {"mesh": "on"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"mesh": "off"}}}, False),
        ({"namespaceSelector": term("mesh", "In", "on", "auto")}, True),
        ({"namespaceSelector": term("mesh", "NotIn", "on")}, False),
        ({"namespaceSelector": term("mesh", "DoesNotExist")}, False),
        ({"namespaceSelector": term("absent", "NotIn", "x")}, True),
        ({"objectSelector": term("tier", "Exists")}, True),
        ({"objectSelector": term("absent", "Exists")}, False),
        ({"objectSelector": {"matchLabels": {"tier": "b"}}}, False),
        ({"objectSelector": term("tier", "SomethingNew")}, True),
    ],
)
def test_a_webhook_is_named_when_rules_and_selectors_fit(said: dict[str, Any], fits: bool) -> None:
    assert likely_mutators(PODS, POD, NAMESPACE, hook(**said), []) == (["webhook w"] if fits else [])
    said = {("resourceRules" if key == "rules" else key): value for key, value in said.items()}
    assert likely_mutators(PODS, POD, NAMESPACE, [], policy(**said)) == (["policy p"] if fits else [])


def test_labels_that_may_not_be_read_exclude_nobody() -> None:
    said = hook(namespaceSelector={"matchLabels": {"mesh": "off"}})
    assert likely_mutators(PODS, POD, None, said, []) == ["webhook w"]


def test_another_kind_of_object_is_another_matter() -> None:
    assert likely_mutators(CLAIMS, POD, NAMESPACE, hook(), policy()) == []
