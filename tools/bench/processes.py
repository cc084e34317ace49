"""What whole processes cost: ``moorage run`` from the shell, the start of the command line; and sizes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.bench.figures import Row, Table
from tools.bench.place import AGENT, CLAIM, Place

RUN_METHOD = """\
A process of its own for each: `moorage run` as typed, with a data folder that is already there, timed from
its start to its word that agentctl answered (stderr) and to the agent's first output (stdout); beside it, in
turn, `kubectl create` of the bare Pod and `kubectl wait` until it is Ready."""
HELP_METHOD = """\
Processor time of a process and its children, user and system, from the operating system's account of it. Runs
in turn; the first of each is thrown away."""
SIZE_METHOD = "The binaries that this checkout ships. Budget: 4 MB each."


def moorage(*words: str) -> list[str]:
    """The installed command, as a person starts it."""
    return [str(Path(sys.executable).parent / "moorage"), *words]


def measure_run(place: Place, rounds: int) -> Table:
    """`moorage run` and its kubectl equivalent, in turn."""
    hello, output, kubectl = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "pod.yaml"
        template.write_bytes(place.template)
        env = {**os.environ, "MOORAGE_DATA_DIR": f"{folder}/data", "NO_COLOR": "1"}
        for number in range(rounds + 1):
            answered, first = _run(place, template, env, f"bench-{number}")
            hello.append(answered)
            output.append(first)
            kubectl.append(_kubectl(place, f"whole-{number}"))
    return Table(
        "session-process",
        "Session start, whole processes",
        RUN_METHOD,
        [
            Row("moorage run: process start → hello answered", "ms", tuple(hello[1:])),
            Row("moorage run: process start → the agent's first output", "ms", tuple(output[1:])),
            Row("kubectl create + wait: process start → Ready", "ms", tuple(kubectl[1:])),
        ],
    )


def _run(place: Place, template: Path, env: dict[str, str], name: str) -> tuple[float, float]:
    flags = ["--kubeconfig", place.live.kubeconfig, "-n", place.namespace, "--template", str(template)]
    claim = ["--workspace", "existing_claim", "--claim", CLAIM, "--name", name]
    log = template.with_name(f"{name}.err")
    began = time.perf_counter()
    with log.open("wb") as errors:
        client = subprocess.Popen(
            moorage("run", *flags, *claim, "--", *AGENT), env=env, stdout=subprocess.PIPE, stderr=errors
        )
    answered = 0.0
    assert client.stdout is not None
    os.set_blocking(client.stdout.fileno(), False)
    while not client.stdout.read(1):
        if client.poll() is not None:
            raise RuntimeError(f"moorage run ended: {log.read_text()}")
        if not answered and b"agentctl " in log.read_bytes():
            answered = time.perf_counter()
        time.sleep(0.002)
    first = time.perf_counter()
    client.kill()
    client.wait()
    subprocess.run(moorage("rm", "-y", "--force", name), env=env, check=True, capture_output=True)
    return ((answered or first) - began) * 1000, (first - began) * 1000


def _kubectl(place: Place, name: str) -> float:
    manifest = place.manifest(name)
    began = time.perf_counter()
    subprocess.run(
        place.live.kubectl_argv("-n", place.namespace, "create", "-f", "-"),
        input=manifest,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    waiting = ["wait", f"pod/{name}", "--for=condition=Ready", "--timeout=60s"]
    place.live.kubectl("-n", place.namespace, *waiting)
    took = (time.perf_counter() - began) * 1000
    place.live.kubectl("-n", place.namespace, "delete", "pod", name, "--grace-period=1", "--wait=true")
    return took


def measure_help(place: Place, rounds: int) -> Table:
    """Processor time of --help, ours and kubectl's, in turn."""
    ours, theirs = [], []
    for _ in range(rounds + 1):
        ours.append(_cpu(moorage("--help")))
        theirs.append(_cpu([place.live.program, "--help"]))
    rows = [
        Row("moorage --help", "ms CPU", tuple(ours[1:]), "≤ 150"),
        Row("kubectl --help", "ms CPU", tuple(theirs[1:])),
    ]
    return Table("cli-help", "Start of the command line", HELP_METHOD, rows)


def _cpu(argv: list[str]) -> float:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{argv[0]} ended with {process.returncode}")
    return (used.ru_utime + used.ru_stime) * 1000


def measure_sizes(root: Path) -> Table:
    """Bytes of each helper binary."""
    found = sorted((root / "src/moorage/_helper").glob("*/agentctl"))
    rows = [Row(f"agentctl linux/{p.parent.name}", "MB", (p.stat().st_size / 1e6,), "≤ 4") for p in found]
    return Table("helper-size", "Size of the helper", SIZE_METHOD, rows)
