"""Which tests pytest collects of those that guarantees.md and cases.md name.

Used by the tests beside it. Collecting runs no test and starts no cluster.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

from tests.docs.pages import ROOT


def collected(tests: Iterable[str]) -> tuple[set[str], str]:
    """Every node id, with its parameters, of the files that ``tests`` stand in; and what pytest said last.

    Tests of the tiers that this run leaves out are among them.
    """
    files = sorted({test.partition("::")[0] for test in tests})
    words = ["-m", "pytest", "--collect-only", "-q", "--cluster", "-p", "no:cacheprovider", "-n", "0"]
    done = subprocess.run(
        [sys.executable, *words, *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return set(done.stdout.splitlines()), done.stdout[-500:] + done.stderr[-500:]
