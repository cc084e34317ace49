"""POD: what a kubelet reports in place of a Pod that simply runs, and what it does not do any more."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

from moorage.core.kinds import Json

from .knob import STATUS, Knob, Strike
from .pod_script import (
    Kubelet,
    Script,
    Step,
    amended,
    container,
    disrupted,
    failed,
    gone,
    heard_again,
    held,
    pending,
    play,
    reported,
    restarted,
    runs,
    silent,
    terminated,
    waiting,
)

REPORTS = frozenset({STATUS})
OVER = ("Failed", "Succeeded")
YEAR_1 = "0001-01-01T00:00:00Z"

SCRIPTS: tuple[Script, ...] = (
    # A slow image, then well.
    (
        (0, pending(container(waiting("ContainerCreating")))),
        (2, pending(container(waiting("ImagePullBackOff", "Back-off pulling image")))),
        (20, runs()),
    ),
    # The node is lost from sight, and comes back.
    ((0, runs()), (2, amended(phase="Unknown", reason="NodeLost")), (10, runs())),
    # A start that fails once.
    (
        (0, pending(container(waiting("CreateContainerError", "context deadline exceeded")))),
        (5, reported(container(waiting("CrashLoopBackOff"), last=terminated("Error", 1), restarts=1))),
        (10, runs()),
    ),
    # The whole Pod ends, each for its own reason.
    ((0, failed("OutOfcpu", "Pod was rejected: OutOfcpu")),),
    ((0, runs()), (3, failed("Evicted", "The node was low on resource: memory."))),
    ((0, runs()), (1, disrupted("PreemptionByScheduler")), (1, gone())),
    ((0, runs()), (3, restarted(terminated("OOMKilled", 137)))),
    ((0, runs()), (3, restarted(terminated("ContainerStatusUnknown", 137, at=YEAR_1)))),
    ((0, runs()), (3, gone())),
)


class StatusScript(Strike):
    """The next ``times`` Pods are reported on by a script. Once calmed, by the node itself."""

    def __init__(self, rng: random.Random, times: int = 1, *, script: Script = ()) -> None:
        super().__init__(rng, times)
        self._script = script or rng.choice(SCRIPTS)
        self._room = times
        self._playing: dict[str, asyncio.Task[None]] = {}

    def pod_status(self, pod: Json, status: Json) -> Iterable[Json]:
        uid = pod["metadata"]["uid"]
        if uid in self._playing:
            return ()
        if self._room == 0 or self.cluster is None:
            return (status,)
        self._room -= 1
        self.used = True
        self.record(STATUS)
        self._playing[uid] = asyncio.ensure_future(self._play(Kubelet(self.cluster, pod)))
        return ()

    async def _play(self, kubelet: Kubelet) -> None:
        for seconds, step in self._script:
            await asyncio.sleep(seconds if self.left > 0 else 0)  # sleep: the script's own time
            if self.left == 0 or kubelet.uid not in kubelet.node.pods:  # calm again, or deleted meanwhile
                break
            await play(((0, step),), kubelet)
        phase = (kubelet.pod or {}).get("status", {}).get("phase", "")
        if self.left == 0 and phase not in ("", *OVER):
            await play(((0, runs()),), kubelet)
        elif phase != "Pending":  # of one that stays so, the script has had the last word
            self.left = max(0, self.left - 1)


class Beside(Strike):
    """A script that goes on beside a Pod that runs, to its end."""

    def script(self) -> Script:
        raise NotImplementedError

    def pod_status(self, pod: Json, status: Json) -> Iterable[Json]:
        if self.cluster is not None:
            self.hit(STATUS)
            self._task = asyncio.ensure_future(play(self.script(), Kubelet(self.cluster, pod)))
        return (status,)


class FinalizerHold(Beside):
    """Somebody's finalizer keeps the Pod, for a while."""

    def script(self) -> Script:
        return ((0, held()), (self.rng.choice((5, 40)), held("")))


class KubeletGone(Beside):
    """The kubelet is not heard from, for a while."""

    def script(self) -> Script:
        away, back = _where_it_is(silent(), there=True), _where_it_is(heard_again(), there=False)
        return ((self.rng.choice((0, 3)), away), (self.rng.choice((5, 45)), back))


def _where_it_is(step: Step, *, there: bool) -> Step:
    """Of two scripts at once, only one takes the kubelet away, and only one brings it back."""
    return lambda kubelet: step(kubelet) if (kubelet.node in kubelet.nodes) == there else None


KNOBS = (
    Knob("status_script", "POD", REPORTS, StatusScript),
    Knob("finalizer_hold", "POD", REPORTS, FinalizerHold),
    Knob("kubelet_gone", "POD", REPORTS, KubeletGone),
)
