"""The story: start, watch, stop, resume, pause, resume on a new Pod, kill the container, delete."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tools.demo.places import Place, environment

T = TypeVar("T")
PATIENCE = 120.0
AGENT = """\
[ -e notes.txt ] || echo "$(ls | wc -l) entries seen" > notes.txt
echo "agent: $(cat notes.txt)"
n=0; while :; do n=$((n+1)); echo "agent: still working, $n"; sleep "$n"; done
"""
"""It speaks ever more seldom: whoever attaches later is shown all of it again."""
HASH = """\
h() {
  sha256sum "$1"/* "$1"/.[!.]* 2>/dev/null
  for d in "$1"/*/ "$1"/.[!.]*/; do [ ! -d "$d" ] || [ -L "${d%/}" ] || h "${d%/}"; done
}
h . | sort | sha256sum | cut -d' ' -f1
"""
"""One sum of all files, with nothing but sh and coreutils."""


class Unexpected(Exception):
    """What should have been so was not."""


class Story:
    """Runs the command line of this checkout in a data folder of its own. ``quiet``: narrate on stderr."""

    def __init__(self, place: Place, source: str, *, quiet: bool) -> None:
        self._place, self._source = place, source
        self._out = sys.stderr if quiet else sys.stdout
        self._env = environment(place)
        self._begun = self._gone = False
        self.states: list[str] = []
        self.timings: dict[str, float] = {}
        self.hashes: dict[str, str] = {}
        self.failed = ""
        self.left: list[str] = []

    def say(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def command(self, *words: str) -> str:
        """One moorage command; its stdout. Its progress goes where we narrate."""
        shown = [*words[:-1], "'…'"] if words[-1] in (HASH, AGENT) else words
        self.say(f"$ moorage {' '.join(shown)}")
        done = subprocess.run(
            [sys.executable, "-m", "moorage", *words],
            env=self._env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=self._out,
            check=False,
        )
        if done.returncode:
            raise Unexpected(f"moorage {words[0]} ended with {done.returncode}")
        return done.stdout.strip()

    def step(self, name: str, work: Callable[[], T]) -> T:
        """Time one step."""
        begun = time.monotonic()
        result = work()
        self.timings[name] = round(time.monotonic() - begun, 3)
        return result

    def look(self) -> Any:
        """The session as it is observed now; its status joins the history."""
        found = json.loads(self.command("describe", "demo", "-o", "json"))
        self.states.append(found["status"])
        self.say(f"  status {found['status']}, Pod uid {found['pod'].get('uid') or 'none'}")
        return found

    def hash(self, label: str) -> None:
        self.hashes[label] = self.command("exec", "demo", "--", "sh", "-c", HASH)
        self.say(f"  workspace sha256 {self.hashes[label][:16]}…")

    def expect(self, holds: bool, what: str) -> None:
        if not holds:
            raise Unexpected(f"expected: {what}")
        self.say(f"  ok: {what}")

    def tell(self) -> None:
        self._start()
        self._stop_and_resume()
        self._pause_and_resume()
        self._kill_container()
        self._delete()

    def _start(self) -> None:
        self._begun = True
        words = [*self._place.flags, "--source", self._source, "--name", "demo"]
        client = self.step("start", lambda: self._run_until("still working, 2", words))
        self.say("  (the client is killed; the agent runs on)")
        client.kill()
        client.wait()
        self.first = self.look()
        self.expect(self.first["status"] == "Running", "the agent runs without its client")

    def _run_until(self, text: str, words: list[str]) -> subprocess.Popen[str]:
        """Start the session and show its output live until ``text`` has been seen."""
        argv = ["run", *words, "--", "sh", "-c", AGENT]
        self.say(f"$ moorage {' '.join(argv[:-1])} '…'")
        client = subprocess.Popen(
            [sys.executable, "-m", "moorage", *argv],
            env=self._env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=self._out,
        )
        assert client.stdout is not None
        for line in client.stdout:
            self.say(line.rstrip("\n"))
            if text in line:
                return client
        raise Unexpected(f"the agent ended with {client.wait()} before it said {text!r}")

    def _stop_and_resume(self) -> None:
        self.step("stop", lambda: self.command("stop", "demo"))
        stopped = self.look()
        self.expect(stopped["status"] == "Stopped", "stopped")
        self.expect(stopped["pod"]["uid"] == self.first["pod"]["uid"], "the Pod is the same one")
        self.hash("stopped")
        self.step("resume", lambda: self.command("resume", "demo"))
        self.expect(self.look()["status"] == "Running", "running again in the same Pod")

    def _pause_and_resume(self) -> None:
        self.step("pause", lambda: self.command("pause", "demo"))
        paused = self.look()
        self.expect(paused["status"] == "Paused", "paused: the Pod is gone, the workspace stays")
        self.step("resume on a new Pod", lambda: self.command("resume", "demo"))
        self.second = self.look()
        self.expect(self.second["pod"]["uid"] != self.first["pod"]["uid"], "it runs in a new Pod")
        self.hash("resumed")
        self.expect(
            self.hashes["stopped"] == self.hashes["resumed"], "the workspace is the same, byte for byte"
        )

    def _kill_container(self) -> None:
        attached = self._attach()
        uid, started = self.second["pod"]["uid"], self._started_at()
        self.say("$ kill -9 (the container's main process, on the node)")
        pids = main_processes(uid)
        self.expect(bool(pids), "the main process is found")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.step("recover", lambda: self._until_started_after(started))
        attached.kill()
        attached.wait()
        found = self.look()
        self.expect(found["pod"]["uid"] == uid, "the Pod is still the same")
        self.expect(found["pod"]["restarts"] >= 1, "its container was restarted, and the agent with it")
        self.hash("recovered")
        self.expect(self.hashes["resumed"] == self.hashes["recovered"], "the workspace is untouched")

    def _attach(self) -> subprocess.Popen[str]:
        """Follow the agent; its output is shown as it comes."""
        self.say("$ moorage attach demo")
        argv = [sys.executable, "-m", "moorage", "attach", "demo"]
        client = subprocess.Popen(argv, env=self._env, text=True, stdout=subprocess.PIPE, stderr=self._out)
        threading.Thread(target=self._show, args=(client,), daemon=True).start()
        return client

    def _show(self, client: subprocess.Popen[str]) -> None:
        assert client.stdout is not None
        for line in client.stdout:
            self.say(line.rstrip("\n"))

    def _started_at(self) -> str:
        words = [sys.executable, "-m", "moorage", "describe", "demo", "-o", "json"]
        done = subprocess.run(words, env=self._env, text=True, stdout=subprocess.PIPE, check=True)
        return str(json.loads(done.stdout)["agent"]["started_at"])

    def _until_started_after(self, started: str) -> None:
        end = time.monotonic() + PATIENCE
        while self._started_at() == started:
            if time.monotonic() > end:
                raise Unexpected(f"the agent was not started again within {PATIENCE:.0f} s")
            time.sleep(0.2)

    def _delete(self) -> None:
        self.step("delete", lambda: self.command("rm", "-y", "demo"))
        end = time.monotonic() + PATIENCE
        while (left := self._place.objects()) and time.monotonic() < end:
            time.sleep(0.2)  # a volume is released a moment after its claim
        self.left = left
        self.expect(not left, "nothing is left in the cluster")
        self.expect(self.command("ls", "-q") == "", "no session is left on record")
        self._gone = True

    def tidy(self) -> None:
        """After a failure or Ctrl-C: remove what is still there."""
        if self._begun and not self._gone:
            words = [sys.executable, "-m", "moorage", "rm", "-y", "--force", "demo"]
            subprocess.run(words, env=self._env, check=False, stdout=self._out, stderr=self._out)

    def summary(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        return {
            "ok": not self.failed,
            "failed": self.failed,
            "states": self.states,
            "seconds": self.timings,
            "workspace_sha256": self.hashes,
            "objects_left": self.left,
        }


def main_processes(pod_uid: str) -> list[int]:
    """The agentctl processes of one Pod, as this machine's process table shows them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            mine = f"MOORAGE_POD_UID={pod_uid}".encode() in (entry / "environ").read_bytes().split(b"\0")
            if mine and b"agentctl\0serve" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found
