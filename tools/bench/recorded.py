"""A cluster that notes when each call began and ended, for whoever wants to know where the time went.

Wraps any ``ports.cluster.Cluster``; changes nothing of what is asked or answered.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from moorage.core.kinds import PODS, Json, Resource
from moorage.ports.cluster import Cluster

CALLS = ("identity", "get", "create", "replace", "patch", "apply", "delete", "exec", "port_forward")


@dataclass(frozen=True)
class Call:
    """One call. Times are of ``time.perf_counter``; ``what`` is a kind, or the first words of a command."""

    verb: str
    what: str
    began: float
    ended: float
    running: bool = False
    """The answer was a Pod whose main container runs."""


class Recorded:
    """Stands in for the cluster; ``calls`` in the order in which they ended."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.calls: list[Call] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cluster, name)
        return self._timed(name, found) if name in CALLS else found

    def _timed(self, verb: str, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **options: Any) -> Any:
            began, answer = time.perf_counter(), None
            try:
                answer = await work(*args, **options)
            finally:
                what = "dry run" if options.get("dry_run") else _what(args)
                self.calls.append(Call(verb, what, began, time.perf_counter(), _runs(args, answer)))
            return answer

        return call

    def first(self, verb: str, what: str = "") -> Call:
        """The first such call. LookupError when there was none."""
        for call in self.calls:
            if call.verb == verb and call.what.startswith(what):
                return call
        raise LookupError(f"no call {verb} {what}")


def recorded(cluster: Cluster) -> tuple[Cluster, Recorded]:
    """The same cluster twice: to work with, and to read the calls from."""
    wrapped = Recorded(cluster)
    return cast(Cluster, wrapped), wrapped


def _what(args: tuple[Any, ...]) -> str:
    if args and isinstance(args[0], Resource):
        return args[0].kind
    if len(args) > 2 and isinstance(args[2], list | tuple):
        return " ".join(args[2])
    return ""


def _runs(args: tuple[Any, ...], answer: Any) -> bool:
    return bool(args) and args[0] == PODS and isinstance(answer, dict) and container_runs(answer)


def container_runs(pod: Json) -> bool:
    """Whether every ordinary container of the Pod is reported as running."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return bool(statuses) and all("running" in (status.get("state") or {}) for status in statuses)
