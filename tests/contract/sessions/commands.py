"""The `moorage` command as a person runs it: a process of its own, judged by its exit code and streams."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testcluster.shell import Failure, wait_for

PATIENCE = float(os.environ.get("MOORAGE_TEST_PATIENCE", "180"))
"""Seconds after which a scenario is given up; never a measure of success."""


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    code: int
    out: bytes
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Running:
    """A command under way; its output is read as it comes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._out = bytearray()
        self._err = bytearray()
        self._readers = [
            threading.Thread(target=self._read, args=(process.stdout, self._out), daemon=True),
            threading.Thread(target=self._read, args=(process.stderr, self._err), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: Any, into: bytearray) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), 1 << 16):
                into += chunk

    @property
    def out(self) -> bytes:
        return bytes(self._out)

    @property
    def err(self) -> str:
        return self._err.decode(errors="replace")

    def until(self, text: bytes) -> None:
        """Wait until ``text`` stands on stdout."""
        self.until_true(f"{text!r} on stdout", lambda: text in self._out)

    def until_said(self, text: str) -> None:
        """Wait until ``text`` stands on stderr."""
        self.until_true(f"{text!r} on stderr", lambda: text in self.err)

    def until_true(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait for something; fails at once, with the streams, when the command has ended without it."""

        def probe() -> bool:
            if holds():
                return True
            if self.process.poll() is not None and not holds():
                for reader in self._readers:
                    reader.join()
                if not holds():
                    raise AssertionError(f"ended ({self.process.returncode}) before {what}: {self.err}")
            return holds()

        try:
            wait_for(what, probe, PATIENCE)
        except Failure as failure:
            raise AssertionError(f"{failure}\nstdout: {self.out[-500:]!r}\nstderr: {self.err}") from None

    def kill(self) -> None:
        """SIGKILL: the client dies without a chance to tidy."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def end(self) -> Done:
        """Wait for its own end."""
        code = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return Done(code, self.out, self.err)


class Moorage:
    """One person's data folder, working in one namespace of the test cluster."""

    def __init__(self, kubeconfig: Path, namespace: str, home: Path) -> None:
        self.kubeconfig, self.namespace, self.home = kubeconfig, namespace, home
        self.data_dir = home / "data"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "MOORAGE_DATA_DIR": str(self.data_dir),
            "MOORAGE_CONFIG_DIR": str(home / "config"),
            "COLUMNS": "200",
        }
        self._running: list[Running] = []

    def start(self, *args: str | Path, env: dict[str, str] | None = None, stdin: Any = None) -> Running:
        """Start a command; it is killed at the end of the test if it still runs."""
        process = subprocess.Popen(
            [sys.executable, "-m", "moorage", *map(str, args)],
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.env, **(env or {})},
            cwd=self.home,
        )
        running = Running(process)
        self._running.append(running)
        return running

    def __call__(
        self, *args: str | Path, code: int | None = 0, env: dict[str, str] | None = None, stdin: Any = None
    ) -> Done:
        """Run a command to its end. ``code``: the exit code it must have; None: any."""
        done = self.start(*args, env=env, stdin=stdin).end()
        if code is not None:
            assert done.code == code, f"moorage {' '.join(map(str, args))} → {done.code}\n{done.err}"
        return done

    def place(self) -> list[str]:
        """The flags that name the test cluster."""
        return ["--kubeconfig", str(self.kubeconfig), "-n", self.namespace]

    def run_args(self, *flags: str | Path, template: Path, command: list[str]) -> list[str | Path]:
        """The words of a `moorage run`."""
        return ["run", *self.place(), "--template", template, *flags, "--", *command]

    def session(self, name: str) -> Any:
        """`describe -o json` of one session."""
        return self("describe", name, "-o", "json").json()

    def end(self) -> None:
        for running in self._running:
            if running.process.poll() is None:
                running.kill()
            running.end()
