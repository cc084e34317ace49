"""Kubernetes quantities (``1Gi``, ``500m``, ``1e3``): is it one, and how much is it.

Called where sizes are checked or compared; the API server rewrites ``1024Mi`` to ``1Gi``, so equality of
text is not equality of size. Never rounds.
"""

from __future__ import annotations

import re
from fractions import Fraction

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(\d+(\.\d*)?|\.\d+))(?P<suffix>[eE][+-]?\d{1,3}|[KMGTPE]i|[numkMGTPE]|)",
    re.ASCII,
)
_FACTORS = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{unit: Fraction(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{unit + "i": Fraction(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}


def parse_quantity(text: str) -> Fraction | None:
    """The exact amount in base units (bytes, cores); None when ``text`` is no quantity."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, suffix = Fraction(match["number"].rstrip(".")), match["suffix"]
    if suffix in _FACTORS:
        return number * _FACTORS[suffix]
    return number * Fraction(10) ** int(suffix[1:])


def same_quantity(left: str, right: str) -> bool:
    """Do both texts say the same amount? Two texts that are no quantities are the same if equal."""
    a, b = parse_quantity(left), parse_quantity(right)
    return left == right if a is None or b is None else a == b
