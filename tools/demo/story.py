"""The story: start, watch, stop, resume, pause, resume on a new Pod, kill the container, delete."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tools.live_cluster import LiveCluster

T = TypeVar("T")
PATIENCE = 120.0
TEMPLATE = """\
apiVersion: v1
kind: PodTemplate
metadata: {name: demo}
template:
  spec:
    terminationGracePeriodSeconds: 5
    containers:
    - name: agent
      image: localhost/busybox:test
      imagePullPolicy: Never
"""
AGENT = """\
[ -e notes.txt ] || echo "$(find . -type f | wc -l) files seen" > notes.txt
echo "agent: $(cat notes.txt)"
n=0; while :; do n=$((n+1)); echo "agent: still working, $n"; sleep 1; done
"""
HASH = "find . -type f -exec sha256sum {} + | sort | sha256sum | cut -d' ' -f1"


class Unexpected(Exception):
    """What should have been so was not."""


class Story:
    """Runs the command line of this checkout in a data folder of its own. ``quiet``: narrate on stderr."""

    def __init__(self, cluster: LiveCluster, source: str, *, quiet: bool) -> None:
        self._cluster, self._source = cluster, source
        self._out = sys.stderr if quiet else sys.stdout
        self._folder = tempfile.TemporaryDirectory(prefix="moorage-demo-")
        self._template = Path(self._folder.name) / "pod.yaml"
        self._template.write_text(TEMPLATE)
        self._env = {**os.environ, "MOORAGE_DATA_DIR": f"{self._folder.name}/data"}
        self.states: list[str] = []
        self.timings: dict[str, float] = {}
        self.hashes: dict[str, str] = {}
        self.failed = ""
        self.left: list[str] = []

    def say(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def command(self, *words: str) -> str:
        """One moorage command; its stdout. Its progress goes where we narrate."""
        self.say(f"$ moorage {' '.join(words)}")
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
        place = ["--kubeconfig", self._cluster.kubeconfig, "-n", self._cluster.namespace]
        where = ["--template", str(self._template), "--source", self._source, "--name", "demo"]
        client = self.step("start", lambda: self._run_until("still working, 2", [*place, *where]))
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
        for pid in main_processes(uid):
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
        while (left := self._cluster.objects()) and time.monotonic() < end:
            time.sleep(0.2)  # a volume is released a moment after its claim
        self.left = left
        self.expect(not left, "nothing is left in the cluster")
        self.expect(self.command("ls", "-q") == "", "no session is left on record")

    def tidy(self) -> None:
        """After a failure: remove what is still there."""
        if self.failed:
            words = [sys.executable, "-m", "moorage", "rm", "-y", "--force", "demo"]
            subprocess.run(words, env=self._env, check=False, stdout=self._out, stderr=self._out)
        self._folder.cleanup()

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
    """The agentctl processes of one Pod, as this machine's process table shows them (needs root)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            mine = f"MOORAGE_POD_UID={pod_uid}".encode() in (entry / "environ").read_bytes().split(b"\0")
            if mine and b"agentctl\0serve" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found
