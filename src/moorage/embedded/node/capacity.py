"""What this machine has, as a Node's capacity, and what Pods ask of it. Called by ``node.registration``,
``node.admit`` and ``node.environment``. Nothing of it is enforced: there is no cgroup of ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction
from functools import cache

from moorage.core.kinds import Json
from moorage.core.quantities import parse_quantity

MAX_PODS = 110
RESOURCES = ("cpu", "memory", "ephemeral-storage")


@cache
def host_capacity() -> dict[str, str]:
    """Quantities by resource name."""
    disk = os.statvfs("/")
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{pages // 1024}Ki",
        "ephemeral-storage": f"{disk.f_blocks * disk.f_frsize // 1024}Ki",
        "pods": str(MAX_PODS),
    }


def requested(pod: Json, resource: str) -> Fraction:
    """What a Pod reserves: its containers and sidecars together, or the largest init container."""
    spec = pod["spec"]
    init = spec.get("initContainers") or []
    sidecars = sum(
        (_request(each, resource) for each in init if each.get("restartPolicy") == "Always"), Fraction()
    )
    running = sum((_request(each, resource) for each in spec["containers"]), sidecars)
    largest = max((_request(each, resource) for each in init), default=Fraction())
    overhead = parse_quantity(str((spec.get("overhead") or {}).get(resource, "0"))) or Fraction()
    return max(running, largest) + overhead


def _request(container: Json, resource: str) -> Fraction:
    resources = container.get("resources") or {}
    amount = (resources.get("requests") or {}).get(
        resource, (resources.get("limits") or {}).get(resource, "0")
    )
    return parse_quantity(str(amount)) or Fraction()


def shortage(pod: Json, others: Iterable[Json]) -> tuple[str, str] | None:
    """``(reason, message)`` of a kubelet that has no room for ``pod`` beside ``others``; None when it has."""
    capacity, there = host_capacity(), list(others)
    if len(there) >= MAX_PODS:
        return (
            "OutOfpods",
            f"Node didn't have enough resource: pods, requested: 1, used: {len(there)}, capacity: {MAX_PODS}",
        )
    for resource in RESOURCES:
        wanted = requested(pod, resource)
        used = sum((requested(other, resource) for other in there), Fraction())
        have = parse_quantity(capacity[resource]) or Fraction()
        if wanted and used + wanted > have:
            scale = 1000 if resource == "cpu" else 1
            numbers = [int(amount * scale) for amount in (wanted, used, have)]
            return f"OutOf{resource}", (
                f"Node didn't have enough resource: {resource}, "
                f"requested: {numbers[0]}, used: {numbers[1]}, capacity: {numbers[2]}"
            )
    return None
