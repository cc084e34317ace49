"""Which admission webhooks and policies may have changed an object that we created. Pure.

Called by ``engine.mutators`` once an owned field came back changed: the API server does not say who did it,
so all whose rules and selectors fit are named. What cannot be judged (labels that may not be read) fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from moorage.core.kinds import Json, Resource

Labels = dict[str, str] | None


def likely_mutators(
    resource: Resource,
    obj: Json,
    namespace_labels: Labels,
    webhooks: Iterable[Json],
    policies: Iterable[Json],
) -> list[str]:
    """``webhook NAME`` and ``policy NAME``, sorted. ``namespace_labels``: None where they may not be read."""
    labels = (obj.get("metadata") or {}).get("labels") or {}
    return sorted(
        name
        for name, match in (*_webhooks(webhooks), *_policies(policies))
        if any(_rule_fits(rule, resource) for rule in match["rules"])
        and _selects(match["namespaces"], namespace_labels)
        and _selects(match["objects"], labels)
    )


def _webhooks(configurations: Iterable[Json]) -> Iterator[tuple[str, Json]]:
    for configuration in configurations:
        for hook in configuration.get("webhooks") or []:
            yield f"webhook {hook.get('name')}", _match(hook, "rules")


def _policies(policies: Iterable[Json]) -> Iterator[tuple[str, Json]]:
    for policy in policies:
        constraints = (policy.get("spec") or {}).get("matchConstraints") or {}
        name = (policy.get("metadata") or {}).get("name")
        yield f"policy {name}", _match(constraints, "resourceRules")


def _match(said: Json, rules: str) -> Json:
    return {
        "rules": said.get(rules) or [],
        "namespaces": said.get("namespaceSelector") or {},
        "objects": said.get("objectSelector") or {},
    }


def _rule_fits(rule: Json, resource: Resource) -> bool:
    wanted = (
        ("apiGroups", resource.group),
        ("apiVersions", resource.version),
        ("resources", resource.plural),
        ("operations", "CREATE"),
    )
    return all({value, "*", "*/*"} & set(rule.get(part) or []) for part, value in wanted)


def _selects(selector: Json, labels: Labels) -> bool:
    """A LabelSelector; an empty one selects all."""
    if labels is None:
        return True
    exact = (selector.get("matchLabels") or {}).items()
    return all(labels.get(key) == value for key, value in exact) and all(
        _holds(term, labels) for term in selector.get("matchExpressions") or []
    )


def _holds(term: Json, labels: dict[str, str]) -> bool:
    value: Any = labels.get(str(term.get("key")))
    values = term.get("values") or []
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(str(term.get("operator")), True)
