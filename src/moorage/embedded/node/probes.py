"""Startup, readiness and liveness probes of running containers. Called by ``node.worker``.

One task per probe and start. What follows from a result is the worker's: readiness changes the status, the
two others end the container.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from moorage.core.kinds import Json

KINDS = ("startup", "liveness", "readiness")
Exec = Callable[[str, list[str]], Awaitable[tuple[int, str]]]
"""Run a command in a container: exit code and output."""
Failed = Callable[[str, str, str], None]
"""``(kind, container, message)`` of one failed look."""


@dataclass(frozen=True)
class Verdict:
    """``kind`` of the probe; ``success``: past its thresholds."""

    kind: str
    container: str
    success: bool


class Probes:
    """The probes of one start of one container."""

    def __init__(self, container: Json, run: Exec, failed: Failed, judged: Callable[[Verdict], None]) -> None:
        self._container, self._run, self._failed, self._judged = container, run, failed, judged
        self.name = container["name"]
        self.started = "startupProbe" not in container
        self.ready = "readinessProbe" not in container and self.started
        self._tasks = [
            asyncio.create_task(self._probe(kind, container[f"{kind}Probe"]))
            for kind in KINDS
            if container.get(f"{kind}Probe")
        ]
        self._begun = asyncio.Event()
        if self.started:
            self._begun.set()

    async def _probe(self, kind: str, probe: Json) -> None:
        if kind != "startup":
            await self._begun.wait()
        good = bad = 0
        await asyncio.sleep(probe.get("initialDelaySeconds") or 0)
        while True:
            success, message = await self._look(probe)
            good, bad = (good + 1, 0) if success else (0, bad + 1)
            if not success:
                self._failed(kind, self.name, message)
            if success and good >= (probe.get("successThreshold") or 1):
                self._passed(kind)
                if kind == "startup":
                    return
            elif not success and bad >= (probe.get("failureThreshold") or 3):
                if kind == "readiness":
                    self.ready = False
                self._judged(Verdict(kind, self.name, False))
                if kind != "readiness":
                    return
            await asyncio.sleep(probe.get("periodSeconds") or 10)

    def _passed(self, kind: str) -> None:
        before = (self.started, self.ready)
        if kind == "startup":
            self.started = True
            self.ready = "readinessProbe" not in self._container
            self._begun.set()
        elif kind == "readiness":
            self.ready = True
        if (self.started, self.ready) != before:
            self._judged(Verdict(kind, self.name, True))

    async def _look(self, probe: Json) -> tuple[bool, str]:
        limit = probe.get("timeoutSeconds") or 1
        try:
            async with asyncio.timeout(limit):
                if "exec" in probe:
                    code, output = await self._run(self.name, probe["exec"]["command"])
                    return code == 0, output
                if "httpGet" in probe:
                    return await http_get(probe["httpGet"], self._container)
                if "tcpSocket" in probe:
                    target = probe["tcpSocket"]
                    _, writer = await asyncio.open_connection(
                        target.get("host") or "127.0.0.1", port_number(target["port"], self._container)
                    )
                    writer.close()
                    return True, ""
        except TimeoutError:
            return False, f"command timed out: timed out after {limit}s"
        except OSError as error:
            return False, str(error)
        return False, "the embedded node has no such probe"

    def cancel(self) -> None:
        """The container has ended."""
        for task in self._tasks:
            task.cancel()


def port_number(port: int | str, container: Json) -> int:
    """A port by number or by the name that the container gives it."""
    if isinstance(port, int):
        return port
    for each in container.get("ports") or []:
        if each.get("name") == port:
            return int(each["containerPort"])
    return int(port) if port.isdigit() else 0


async def http_get(action: Json, container: Json) -> tuple[bool, str]:
    """GET; 200–399 is success. The network is the host's, so the address is this machine's."""
    host, port = action.get("host") or "127.0.0.1", port_number(action["port"], container)
    path = action.get("path") or "/"
    tls = (action.get("scheme") or "HTTP").upper() == "HTTPS"
    reader, writer = await asyncio.open_connection(host, port, ssl=_any_certificate() if tls else None)
    try:
        lines = [
            f"GET {path if path.startswith('/') else '/' + path} HTTP/1.1",
            "User-Agent: kube-probe/1.36",
        ]
        named = {each["name"].lower(): each["value"] for each in action.get("httpHeaders") or []}
        lines += [f"{name}: {value}" for name, value in {"host": f"{host}:{port}", **named}.items()]
        writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode())
        first = (await reader.readline()).decode("latin-1").split()
        code = int(first[1]) if len(first) > 1 and first[1].isdigit() else 0
        return 200 <= code < 400, f"HTTP probe failed with statuscode: {code}"
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def _any_certificate() -> object:
    import ssl

    context = ssl.create_default_context()
    context.check_hostname = False  # a probe looks whether it answers, as the kubelet's does
    context.verify_mode = ssl.CERT_NONE
    return context
