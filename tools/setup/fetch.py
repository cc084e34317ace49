"""Where tools are kept, and how one gets there: by exact version and hash, whole or not at all.

Called by the other modules of this package. Never touches anything outside the tool cache.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

STILL_EVERY = 10.0
"""Seconds between two lines that say a long step goes on; the first line comes after as many."""


class SetupFailed(Exception):
    """Something could not be made; ``hint`` says what the person can do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Places:
    """Where things are: the checkout, and the cache that all checkouts of one person share."""

    root: Path
    cache: Path

    @property
    def python(self) -> Path:
        return self.root / ".venv" / "bin" / "python"

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / ".moorage-inputs"

    @property
    def requirements(self) -> Path:
        return self.root / "tools" / "setup" / "toolchain.txt"


def say(text: str) -> None:
    print(f"dev: {text}", file=sys.stderr)


def cache_directory(environment: Mapping[str, str]) -> Path:
    """``$XDG_CACHE_HOME/moorage/tools``; a relative value is ignored, as the XDG specification says."""
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        base = Path(os.path.expanduser("~")) / ".cache"
    return base / "moorage" / "tools"


@contextlib.contextmanager
def locked(places: Places) -> Iterator[None]:
    """One setup at a time for one cache; the kernel drops the lock when its holder dies."""
    try:
        places.cache.mkdir(parents=True, exist_ok=True)
        lock = (places.cache / "lock").open("a")
    except OSError as cause:
        raise SetupFailed(
            f"cannot write to the tool cache: {cause}", "set XDG_CACHE_HOME to a folder you own"
        ) from cause
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Pin:
    """One entry of toolchain.txt, hashes and all."""

    name: str
    version: str
    text: str


def pinned(requirements: Path, name: str) -> Pin:
    entries = re.split(r"^(?=[a-z])", requirements.read_text(), flags=re.M)
    text = next(entry for entry in entries if entry.startswith(f"{name}=="))
    version = text.split("==", 1)[1].split()[0]
    return Pin(name, version, text)


def fetched(places: Places, pin: Pin, title: str, install: Callable[[Path, Path], None]) -> Path:
    """The folder of a pinned tool, complete or not there at all: it is made aside, then renamed."""
    folder = places.cache / f"{pin.name}-{pin.version}"
    if folder.exists():
        return folder
    say(f"getting {title} {pin.version} into {places.cache} (once)")
    with tempfile.TemporaryDirectory(dir=places.cache, prefix="new-") as scratch:
        requirement = Path(scratch) / "requirement.txt"
        requirement.write_text(pin.text)
        install(Path(scratch) / "tool", requirement)
        (Path(scratch) / "tool").rename(folder)
    return folder


def run(
    argv: Sequence[str | Path],
    failure: str,
    hint: str,
    *,
    doing: str,
    every: float = STILL_EVERY,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run quietly, but say every ``every`` seconds that we are still ``doing`` it; on failure show what the
    program said, and raise ``SetupFailed``."""
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=environment
    ) as process:
        try:
            said = _output(process, doing, every)
        except BaseException:  # Ctrl-C: nothing is left running
            process.kill()
            raise
    if process.returncode != 0:
        sys.stderr.write(said)
        raise SetupFailed(f"{failure}: {Path(argv[0]).name} ended with {process.returncode}", hint)


def _output(process: subprocess.Popen[str], doing: str, every: float) -> str:
    """All that a process says until it ends."""
    begun = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=every)[0]
        except subprocess.TimeoutExpired:
            say(f"still {doing}, {time.monotonic() - begun:.0f} s")
