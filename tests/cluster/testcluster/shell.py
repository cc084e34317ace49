"""Commands, waiting, progress lines and the one error type of the test cluster.

Called by every other module here. It never decides what to run.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
STARTED = time.monotonic()


class Failure(Exception):
    """What went wrong, why, and what to do about it, in words for the person at the terminal."""


def say(text: str) -> None:
    """Print one progress line; stdout stays free for what a command answers."""
    print(f"[cluster {time.monotonic() - STARTED:6.1f}s] {text}", file=sys.stderr, flush=True)


def run(
    *argv: str | Path,
    check: bool = True,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a command and return its stdout.

    Raises Failure with the command's own words when it fails and `check` is set.
    """
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words, text=True, capture_output=True, input=stdin, env=env, cwd=cwd, check=False
        )
    except OSError as error:
        raise Failure(f"cannot run {words[0]}: {error.strerror}") from error
    if check and done.returncode:
        why = done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}"
        raise Failure(f"{shlex.join(words)}: {why}")
    return done.stdout


def wait_for(what: str, probe: Callable[[], T | None], timeout: float = 60, pause: float = 0.1) -> T:
    """Ask until `probe` answers something true; errors of the connection or of a command count as "not yet".

    Raises Failure with the last answer after `timeout` seconds.
    """
    end = time.monotonic() + timeout
    last: object = None
    while time.monotonic() < end:
        try:
            answer = probe()
            if answer:
                return answer
            last = answer
        except (OSError, http.client.HTTPException, Failure) as error:
            last = error
        time.sleep(pause)  # sleep: what we wait for, outside of this process, announces nothing
    raise Failure(f"gave up after {timeout:g} s waiting for {what} (last answer: {last})")


def born_at(pid: int) -> str:
    """Start time of a live process in clock ticks, "" if it is gone: a pid alone may name another process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def read_bytes(path: Path) -> bytes:
    """Content of a file that may vanish at any moment, as those in /proc do."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


@contextlib.contextmanager
def exclusive(path: Path, waiting: str) -> Iterator[None]:
    """Hold an advisory lock on `path`; say what is waited for when another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def go_environment() -> dict[str, str]:
    """Ours, with a configuration folder in which Go's telemetry is off: Go has no variable for that, and
    would count every build in the user's own. (hatch_build has the same; this package stands alone.)"""
    theirs = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    ours = cache_root() / "go-config"
    mode = ours / "go" / "telemetry" / "mode"
    mode.parent.mkdir(parents=True, exist_ok=True)
    mode.write_text("off\n")
    settings = os.environ.get("GOENV") or f"{theirs}/go/env"
    return {**os.environ, "XDG_CONFIG_HOME": str(ours), "GOENV": settings}


def cache_root() -> Path:
    """Where binaries and locks live: outside of any checkout."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "moorage" / "cluster"
