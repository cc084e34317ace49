"""Bytes per second through exec, port-forward and the link, beside kubectl on the same node."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from moorage.core.kinds import PODS
from moorage.core.observed import Present
from tools.bench import pipes
from tools.bench.figures import Row, Table
from tools.bench.pipes import PIECE, Pipe
from tools.bench.place import Place
from tools.bench.recorded import container_runs
from tools.bench.starts import follow_start

Command: TypeAlias = tuple[str, ...]
POD = "probe"
MIB = 64
BLOCK = 65536
BLOCKS = f"bs={BLOCK} count={(MIB << 20) // BLOCK} iflag=fullblock"
TAKE: Command = ("sh", "-c", f"dd if=/dev/zero {BLOCKS} 2>/dev/null")
GIVE: Command = ("sh", "-c", f"echo ready; dd of=/dev/null {BLOCKS} 2>/dev/null; echo done")
PORTS = {TAKE: 9001, GIVE: 9002}
LISTEN = "".join(f"nc -ll -p {PORTS[c]} -e sh -c '{c[2]}' & " for c in (TAKE, GIVE)) + "sleep 3600"
METHOD = f"""\
{MIB} MiB of zeros each way, ours and kubectl's in turn in every round, one connection at a time. *Down*: from
the first bytes that arrive to the last. *Up*: from the moment the process in the Pod says that it is ready
to its word that all has come. So no start of a process is counted. kubectl's bytes are read from its pipe
(exec) or its local port (port-forward) as ours are read from our adapter, in pieces of up to 1 MiB. The link
runs the same command beside a session's agent, over its port-forward. *Ratio*: ours by kubectl's of the same
round."""

Open: TypeAlias = Callable[[Command], AbstractAsyncContextManager[Pipe]]


async def measure(place: Place, rounds: int) -> Table:
    """All ways in turn; the first round is thrown away."""
    await _start_pod(place)
    rates: dict[str, list[float]] = defaultdict(list)
    async with place.verbs(place.cluster) as verbs:
        session = await verbs.launch(place.request("exec"), lambda progress: None)
        await follow_start(verbs, session.id)
        ways: dict[str, Open] = {
            "exec": lambda c: pipes.exec_pipe(place, POD, c),
            "kubectl exec": lambda c: pipes.kubectl_exec_pipe(place, POD, c),
            "port-forward": lambda c: pipes.forward_pipe(place, POD, PORTS[c]),
            "kubectl port-forward": lambda c: pipes.kubectl_forward_pipe(place, POD, PORTS[c]),
            "link": lambda c: pipes.link_pipe(verbs, session.id, c),
        }
        for _ in range(rounds + 1):
            for name, way in ways.items():
                rates[f"{name}, down"].append(await _down(way))
                rates[f"{name}, up"].append(await _up(way))
        await verbs.remove(session.id, lambda progress: None, force=True)
    await place.delete_pod(POD)
    return Table("throughput", "Throughput", METHOD, _rows({k: v[1:] for k, v in rates.items()}))


async def _start_pod(place: Place) -> None:
    await place.cluster.create(PODS, place.bare_pod(POD, ("sh", "-c", LISTEN), claim=""), place.namespace)
    async with place.cluster.watch(PODS, place.namespace, field_selector=f"metadata.name={POD}") as pods:
        while not (isinstance(found := pods.get(POD), Present) and container_runs(found.value)):
            await pods.changed()


async def _down(way: Open) -> float:
    """MiB/s from the first bytes to the last."""
    async with way(TAKE) as pipe:
        left = (MIB << 20) - len(await pipe.read())
        began = time.perf_counter()
        while left > 0:
            data = await pipe.read()
            if not data:
                raise RuntimeError(f"{left} bytes are missing")
            left -= len(data)
        return MIB / (time.perf_counter() - began)


async def _up(way: Open) -> float:
    """MiB/s from ``ready`` to ``done``."""
    piece = bytes(PIECE)
    async with way(GIVE) as pipe:
        await _until(pipe, b"ready")
        began = time.perf_counter()
        for _ in range(MIB):
            await pipe.write(piece)
        await _until(pipe, b"done")
        return MIB / (time.perf_counter() - began)


async def _until(pipe: Pipe, word: bytes) -> None:
    said = b""
    while word not in said:
        data = await pipe.read()
        if not data:
            raise RuntimeError(f"ended before {word.decode()!r}: {said!r}")
        said += data


def _rows(rates: dict[str, list[float]]) -> list[Row]:
    rows = [Row(name, "MiB/s", tuple(values)) for name, values in rates.items()]
    for ours, theirs in (("exec", "exec"), ("port-forward", "port-forward"), ("link", "port-forward")):
        for way in ("down", "up"):
            pairs = zip(rates[f"{ours}, {way}"], rates[f"kubectl {theirs}, {way}"], strict=True)
            what = f"**{ours} by kubectl {theirs}, {way}**"
            budget = "" if ours == "link" else "≥ 0.95"  # a bare stream carries no frames and no MACs
            rows.append(Row(what, "ratio", tuple(mine / other for mine, other in pairs), budget))
    return rows
