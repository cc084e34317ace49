"""Tries inputs near the corpus of one target, without coverage: ``python -m tools.fuzz.mutation NAME SECONDS
FIGURES …``. Started by ``tools.fuzz.python`` where atheris is not to be had; keeps no bound on an input.
"""

from __future__ import annotations

import secrets
import sys
import time
from pathlib import Path

from tests.fuzz.mutations import near
from tests.fuzz.targets import TARGETS
from tools.fuzz.trial import Trial

AT_ONCE = 100
"""Inputs between two looks at the clock."""


def main() -> None:
    target, end = TARGETS[sys.argv[1]], time.monotonic() + float(sys.argv[2])
    trial = Trial(target, Path(sys.argv[3]))
    starts = target.starts()
    while time.monotonic() < end:
        for data in near(starts, secrets.randbits(64), AT_ONCE, target.longest):
            trial.run(data)
    trial.note()


if __name__ == "__main__":
    main()
