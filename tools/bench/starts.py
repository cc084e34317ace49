"""How long a session takes to start, beside a bare Pod of the same template and claim.

Everything runs under one event loop in one process: Python's own start is not in these figures (see
``tools.bench.processes``).
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import cast

from moorage.core.kinds import PODS
from moorage.core.observed import Present
from moorage.ports.link import Output
from moorage.ports.sessions import Happening, Progress
from moorage.sessions.verbs import Verbs
from tools.bench.figures import Row, Table
from tools.bench.place import Place
from tools.bench.recorded import Recorded, container_runs, recorded

BARE = {"bare": "bare Pod", "init": "bare Pod with an init container"}
BUDGET = {"exec": "≤ 250", "image": "≤ 120"}
METHOD = """\
One process, one event loop, one warm data folder. Rounds of a bare Pod, one with an init container that ends
at once, a session with the helper by exec and one with the helper from an image, each round beginning with
another. The image is on the node, the claim is bound, and all use the same one. *Bare Pod*: from sending the
POST to a watch that shows its container running. *Session*: from sending the POST of its Pod to the hello
that agentctl answered. Differences are taken within a round. The parts are of the same starts."""


@dataclass(frozen=True)
class Start:
    """Moments of one start, of ``time.perf_counter``."""

    asked: float
    post: float
    running: float
    bootstrap: float
    dial: float
    hello: float
    output: float


async def bare_start(place: Place, name: str, *, init: bool = False) -> float:
    """Milliseconds from POST to Running seen."""
    selector = f"metadata.name={name}"
    async with place.cluster.watch(PODS, place.namespace, field_selector=selector) as pods:
        await pods.changed()
        began = time.perf_counter()
        await place.cluster.create(PODS, place.bare_pod(name, init=init), place.namespace)
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
    start = _moments(calls, asked, hello, output)
    await verbs.remove(session.id, lambda progress: None, force=True)
    return start


async def follow_start(verbs: Verbs, session_id: str) -> tuple[float, float]:
    """When hello was answered and when the first output came; then lets go of the session."""
    hello = 0.0
    following = cast(AsyncGenerator[Happening, None], verbs.attach(session_id).happenings())
    async with contextlib.aclosing(following) as happenings:
        async for happening in happenings:
            if isinstance(happening, Progress) and happening.step == "hello":
                hello = time.perf_counter()
            if isinstance(happening, Output):
                return hello, time.perf_counter()
    raise AssertionError("the agent said nothing")


def _moments(calls: Recorded, asked: float, hello: float, output: float) -> Start:
    bootstrap = calls.first("exec").began
    dials = [call.began for call in calls.calls if call.verb == "port_forward" or "tunnel" in call.what]
    return Start(
        asked=asked,
        post=calls.first("create", "Pod").began,
        running=next(call.ended for call in calls.calls if call.running),
        bootstrap=bootstrap,
        dial=min(dials),
        hello=hello,
        output=output,
    )


async def measure(place: Place, rounds: int) -> Table:
    """Interleaved starts; the first round is thrown away."""
    kinds = ["bare", "init", "exec", "image"] if place.helper_image else ["bare", "exec"]
    bare: dict[str, list[float]] = defaultdict(list)
    starts: dict[str, list[Start]] = defaultdict(list)
    cluster, calls = recorded(place.cluster)
    async with place.verbs(cluster) as verbs:
        for number in range(rounds + 1):
            turn = number % len(kinds)
            for kind in kinds[turn:] + kinds[:turn]:
                if kind in ("bare", "init"):
                    bare[kind].append(await bare_start(place, f"{kind}-{number}", init=kind == "init"))
                else:
                    starts[kind].append(await session_start(verbs, place, calls, kind))
    table = Table("session-start", "Session start, in process", METHOD)
    for kind, took in bare.items():
        table.rows.append(Row(f"{BARE[kind]}: POST → Running seen", "ms", tuple(took[1:])))
    for kind, found in starts.items():
        table.rows += _rows(kind, found[1:], {name: took[1:] for name, took in bare.items()})
    return table


def _rows(kind: str, starts: list[Start], bare: dict[str, list[float]]) -> list[Row]:
    def row(what: str, seconds: Callable[[Start], float]) -> Row:
        return Row(f"{kind}: {what}", "ms", tuple(seconds(start) * 1000 for start in starts))

    def beyond(base: str, budget: str = "") -> Row:
        pairs = zip(answered.values, bare[base], strict=True)
        return Row(
            f"{kind}: **minus {BARE[base]}**", "ms", tuple(mine - other for mine, other in pairs), budget
        )

    answered = row("POST → hello answered", lambda s: s.hello - s.post)
    return [
        answered,
        *(
            [beyond("bare"), beyond("init", BUDGET[kind])]
            if kind == "image"
            else [beyond("bare", BUDGET[kind])]
        ),
        row("POST → Running read", lambda s: s.running - s.post),
        row("Running read → exec sent", lambda s: s.bootstrap - s.running),
        row("exec sent → dialled (helper and nonce)", lambda s: s.dial - s.bootstrap),
        row("dialled → hello", lambda s: s.hello - s.dial),
        row("hello → the agent's first output", lambda s: s.output - s.hello),
        row("request → POST (checks, dry run, record)", lambda s: s.post - s.asked),
    ]
