"""Requests and limits of containers: names of resources, signs, and requests that exceed their limit.

Called by the format check. Nothing here depends on what a cluster has.
"""

from __future__ import annotations

import math
from fractions import Fraction

from moorage.core.document.nodes import Mapping, Node, Scalar, item, join, shown
from moorage.core.names import nearest
from moorage.core.quantities import parse_quantity
from moorage.core.template.rules.findings import Findings

_PLAIN = ("cpu", "memory", "ephemeral-storage")
_LONGEST_QUANTITY = 64


def amount(node: Node) -> Fraction | None:
    """The exact amount a value stands for, None where it is no quantity."""
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, bool) or value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, int | float):
        return Fraction(str(value))  # 0.1 as written, not as a float holds it
    return parse_quantity(value) if len(value) <= _LONGEST_QUANTITY else None


def check_amounts(findings: Findings, node: Node, path: str) -> None:
    """One of ``limits`` and ``requests``: known or qualified names, nothing negative."""
    for name, entry in node.entries.items() if isinstance(node, Mapping) else ():
        where = item(path, name)
        if name not in _PLAIN and "/" not in name and not name.startswith("hugepages-"):
            close = nearest(name, _PLAIN)
            hint = (
                f"did you mean {close}?" if close else "write cpu, memory, ephemeral-storage or domain/name"
            )
            findings.error(entry, where, "bad_name", f"{shown(name)} is no resource of a container", hint)
        found = amount(entry.value)
        if found is not None and found < 0:
            findings.error(
                entry.value, where, "out_of_range", "an amount cannot be negative", "remove the '-'"
            )


def check_requests(findings: Findings, node: Node, path: str) -> None:
    """``resources`` as a whole: no request above its limit."""
    requests = node.mapping("requests") if isinstance(node, Mapping) else None
    limits = node.mapping("limits") if isinstance(node, Mapping) else None
    if requests is None or limits is None:
        return
    for name, entry in requests.entries.items():
        limit = limits.get(name)
        wanted, most = amount(entry.value), amount(limit) if limit is not None else None
        if wanted is not None and most is not None and wanted > most:
            message = f"the request for {name} is above its limit"
            where = item(join(path, "requests"), name)
            findings.error(
                entry.value, where, "out_of_range", message, "raise the limit or lower the request"
            )
