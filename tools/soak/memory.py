"""How the memory of the controlling process grows: a straight line through one value a minute. Pure.

Least squares, with a 95 % interval. Neighbouring minutes resemble each other, which makes the plain interval
too narrow: it is widened by the correlation of the residuals with those before (as many independent values
as n·(1-r)/(1+r)).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

Sample = tuple[float, float]
"""Seconds since the run began, and MiB."""
CONFIDENCE = 0.95
FEWEST = 4
"""Values through which a line is drawn at all."""


@dataclass(frozen=True)
class Slope:
    """MiB an hour, between ``low`` and ``high`` with 95 % confidence. ``values``: minutes it was drawn
    through; ``correlation``: of the residuals, 0 where it is negative; ``at_start`` MiB: the line where it
    begins."""

    per_hour: float
    low: float
    high: float
    values: int
    correlation: float
    at_start: float

    def plain(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in asdict(self).items()}


def by_minute(samples: Sequence[Sample], after: float) -> list[Sample]:
    """The median of each minute from ``after`` seconds on, at the middle of that minute."""
    minutes: dict[int, list[float]] = {}
    for at, value in samples:
        if at >= after:
            minutes.setdefault(int(at // 60), []).append(value)
    return [(60.0 * minute + 30, statistics.median(values)) for minute, values in sorted(minutes.items())]


def slope(points: Sequence[Sample]) -> Slope | None:
    """None for fewer than ``FEWEST`` points."""
    n = len(points)
    if n < FEWEST:
        return None
    hours = [at / 3600 for at, _ in points]
    values = [value for _, value in points]
    mean_x, mean_y = statistics.fmean(hours), statistics.fmean(values)
    spread = sum((x - mean_x) ** 2 for x in hours)
    rise = sum((x - mean_x) * (y - mean_y) for x, y in zip(hours, values, strict=True)) / spread
    rest = [y - mean_y - rise * (x - mean_x) for x, y in zip(hours, values, strict=True)]
    squares = sum(r * r for r in rest)
    together = sum(a * b for a, b in itertools.pairwise(rest)) / squares if squares else 0.0
    correlation = min(max(together, 0.0), 0.95)
    error = math.sqrt(squares / (n - 2) / spread) * math.sqrt((1 + correlation) / (1 - correlation))
    wide = _student(n - 2) * error
    begins = mean_y + rise * (hours[0] - mean_x)
    return Slope(rise, rise - wide, rise + wide, n, correlation, begins)


def _student(freedom: int) -> float:
    """The two-sided quantile of Student's t, by Cornish and Fisher's expansion: within 2 % from 3 on."""
    z: float = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / float(freedom**power) for power, term in enumerate(terms, 1))
