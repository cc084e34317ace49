"""Reads who may have changed an object on its way in. Called by ``engine.creation``; never writes.

These are cluster-wide objects that many identities may not read: then nobody is named.
"""

from __future__ import annotations

from moorage.core.errors import ApiError
from moorage.core.kinds import MUTATING_POLICIES, MUTATING_WEBHOOKS, NAMESPACES, Json, Resource
from moorage.core.mutators import likely_mutators
from moorage.ports.cluster import Cluster


async def find_mutators(cluster: Cluster, resource: Resource, obj: Json) -> list[str]:
    """Names of webhooks and policies whose rules fit the creation of ``obj``."""
    webhooks = await _all(cluster, MUTATING_WEBHOOKS)
    policies = await _all(cluster, MUTATING_POLICIES)
    labels = await _namespace_labels(cluster, obj["metadata"]["namespace"])
    return likely_mutators(resource, obj, labels, webhooks, policies)


async def _all(cluster: Cluster, resource: Resource) -> list[Json]:
    try:
        return [item async for item in cluster.list_all(resource)]
    except ApiError:
        return []


async def _namespace_labels(cluster: Cluster, namespace: str) -> dict[str, str] | None:
    try:
        found = await cluster.get(NAMESPACES, namespace)
    except ApiError:
        return None
    labels: dict[str, str] = found["metadata"].get("labels") or {}
    return labels
