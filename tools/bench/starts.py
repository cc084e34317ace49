"""How long a session takes to start, beside a bare Pod of the same template and claim; and with how many calls.

Everything runs under one event loop in one process: Python's own start is not in these figures (see
``tools.bench.processes``).
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from moorage.core.kinds import PODS
from moorage.core.observed import Present
from moorage.ports.link import Output
from moorage.ports.sessions import Progress
from moorage.sessions.verbs import Verbs
from tools.bench.figures import Row, Table
from tools.bench.place import Place
from tools.bench.recorded import Recorded, container_runs, recorded

BUDGET = {"exec": "≤ 250", "image": "≤ 120"}
METHOD = """\
One process, one event loop, one warm data folder. Rounds of a bare Pod, a session with the helper by exec and
one with the helper from an image, in turn, each round beginning with another; the image is on the node, the
claim is bound, and the same one is used by all. *Bare Pod*: from sending the POST to a watch that shows its
container running. *Session*: from sending the POST of its Pod to the hello that agentctl answered. The
difference is taken within a round. The parts below it are of the same starts."""


@dataclass(frozen=True)
class Start:
    """One start, in milliseconds from the Pod's POST; ``launch``: from the request to that POST."""

    launch: float
    running: float
    upload: float
    deliver: float
    hello: float
    output: float


async def bare_start(place: Place, name: str) -> float:
    """Milliseconds from POST to Running seen."""
    selector = f"metadata.name={name}"
    async with place.cluster.watch(PODS, place.namespace, field_selector=selector) as pods:
        await pods.changed()
        began = time.perf_counter()
        await place.cluster.create(PODS, place.bare_pod(name), place.namespace)
        while True:
            found = pods.get(name)
            if isinstance(found, Present) and container_runs(found.value):
                break
            await pods.changed()
        ended = time.perf_counter()
    await place.delete_pod(name)
    return (ended - began) * 1000


async def session_start(verbs: Verbs, place: Place, calls: Recorded, source: str) -> Start:
    """One session, from nothing to the first byte of its agent, then removed."""
    calls.calls.clear()
    asked = time.perf_counter()
    session = await verbs.launch(place.request(source), lambda progress: None)
    hello, output = await follow_start(verbs, session.id)
    start = _parts(calls, asked, hello, output)
    await verbs.remove(session.id, lambda progress: None, force=True)
    return start


async def follow_start(verbs: Verbs, session_id: str) -> tuple[float, float]:
    """When hello was answered and when the first output came; then lets go of the session."""
    hello = 0.0
    async with contextlib.aclosing(verbs.attach(session_id).happenings()) as happenings:  # type: ignore[type-var]
        async for happening in happenings:
            if isinstance(happening, Progress) and happening.step == "hello":
                hello = time.perf_counter()
            if isinstance(happening, Output):
                return hello, time.perf_counter()
    raise AssertionError("the agent said nothing")


def _parts(calls: Recorded, asked: float, hello: float, output: float) -> Start:
    post = calls.first("create", "Pod").began
    running = next(call.ended for call in calls.calls if call.running)
    with contextlib.suppress(LookupError):
        running = max(running, 0.0)
    receive = calls.first("exec", "/opt/moorage/agentctl receive")
    try:
        upload = calls.first("exec", "/bin/sh").began
    except LookupError:
        upload = receive.began
    deliver = next(c.began for c in calls.calls if c.verb in ("port_forward", "exec") and c.began > receive.ended)
    ms = [
        (at - post) * 1000
        for at in (running, upload, receive.began, deliver, hello, output)
    ]
    return Start((post - asked) * 1000, ms[0], ms[2] - ms[1], ms[3] - ms[2], ms[4], ms[5])


async def measure(place: Place, rounds: int) -> Table:
    """Interleaved starts; the first round is thrown away."""
    kinds = ["bare", "exec", *(["image"] if place.helper_image else [])]
    bare: list[float] = []
    starts: dict[str, list[Start]] = defaultdict(list)
    cluster, calls = recorded(place.cluster)
    with tempfile.TemporaryDirectory() as folder:
        verbs = await place.verbs(cluster, Path(folder))
        for number in range(rounds + 1):
            turn = number % len(kinds)
            for kind in kinds[turn:] + kinds[:turn]:
                if kind == "bare":
                    bare.append(await bare_start(place, f"bare-{number}"))
                else:
                    starts[kind].append(await session_start(verbs, place, calls, kind))
        await verbs._parts.store.close()
    table = Table("session-start", "Session start, in process", METHOD)
    table.rows.append(Row("bare Pod: POST → Running seen", "ms", tuple(bare[1:])))
    for kind, found in starts.items():
        table.rows += _rows(kind, found[1:], bare[1:])
    return table


def _rows(kind: str, starts: list[Start], bare: list[float]) -> list[Row]:
    def row(what: str, values: list[float], budget: str = "") -> Row:
        return Row(f"{kind}: {what}", "ms", tuple(values), budget)

    extra = [start.hello - base for start, base in zip(starts, bare, strict=True)]
    return [
        row("POST → hello answered", [s.hello for s in starts]),
        row("**minus bare Pod**", extra, BUDGET[kind]),
        row("– POST → Running read", [s.running for s in starts]),
        row("– Running read → hello", [s.hello - s.running for s in starts]),
        row("– of that: upload of the helper", [s.upload for s in starts]),
        row("– of that: delivery of the nonce", [s.deliver for s in starts]),
        row("hello → the agent's first output", [s.output - s.hello for s in starts]),
        row("request → POST (checks, dry run, record)", [s.launch for s in starts]),
    ]
