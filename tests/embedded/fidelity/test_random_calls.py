"""The embedded cluster answers random API calls as a real API server does: the same codes, the same bodies.

What is not compared stands in ``masks.py``, each with its reason.
"""

from __future__ import annotations

import difflib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from .conftest import Pair
from .kinds import BY_PLURAL
from .masks import Masks
from .scripts import scripts
from .sides import Run, Step

pytestmark = [pytest.mark.cluster, pytest.mark.newest]
DEEPER = os.environ.get("MOORAGE_EXAMPLES", "")
"""How many scripts, and a failing one is made shorter. Which ones is told by MOORAGE_SEED."""


@seed(int(os.environ.get("MOORAGE_SEED", "1")))
@settings(
    max_examples=int(DEEPER or 200),
    phases=[Phase.generate, Phase.shrink] if DEEPER else [Phase.generate],
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(script=scripts())
def test_every_answer_is_a_real_servers(pair: Pair, script: list[Step]) -> None:
    namespace = pair.quiet if any(BY_PLURAL[step.plural].alone for step in script) else pair.namespace

    def answers(side: Any) -> list[Any]:
        run, masks = Run(side, namespace, pair.prefix), Masks(pair.prefix)
        try:
            return [masks(step, run.do(step)) for step in script]
        finally:
            run.clear()

    with ThreadPoolExecutor(2) as both:
        real, embedded = both.map(answers, (pair.real, pair.embedded))
    for step, wanted, found in zip(script, real, embedded, strict=True):
        assert wanted == found, f"{step}\n{difference(wanted, found)}"


def difference(wanted: Any, found: Any) -> str:
    """What the real server said (-) and the embedded cluster instead (+)."""
    real, embedded = (
        json.dumps(value, indent=1, sort_keys=True, default=str).splitlines() for value in (wanted, found)
    )
    return "\n".join(difflib.unified_diff(real, embedded, "real", "embedded", lineterm="", n=1))
