"""A Python that has loaded pytest and the libraries once, and forks for each run of tests.

Started by ``tests.Runner`` in a copy of the checkout; most of what a short run costs is loading. Nothing of
the checkout itself is loaded before the fork, so each run sees the mutant of its moment. It reads one JSON
object a line, ``{"argv": […], "output": PATH}``, and answers with two: the run's process id, its exit code.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

import pytest

LIBRARIES = (
    *(
        "hypothesis.core",
        "hypothesis.strategies",
        "hypothesis.stateful",
        "aiohttp.web",
        "msgspec.json",
        "yaml",
    ),
    *(
        "sqlalchemy.ext.asyncio",
        "aiosqlite",
        "alembic.command",
        "cryptography.fernet",
        "click",
        "rich.console",
    ),
)


def main() -> None:
    for name in LIBRARIES:
        import_module(name)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            run(asked["argv"], asked["output"])
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def run(argv: list[str], output: str) -> None:
    """In the child: pytest in a process group of its own, its words in a file. Never returns."""
    os.setpgid(0, 0)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, target in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(descriptor, target)
    code = 1
    try:
        code = int(pytest.main(argv))
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
