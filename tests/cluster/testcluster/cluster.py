"""One cluster: its folder, its recorded state, its processes, and every name derived from them.

Called by all parts that start, ask or remove something. The folder is the identity: bridge,
namespaces and cgroups carry a hash of its path, so clusters run side by side and `down` can find
everything even when the state file is lost. It starts processes but never decides which.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .shell import Failure, born_at, cache_root, read_bytes, run, wait_for

MARK = "MOORAGE_TEST_CLUSTER_PROCESS"  # environment of every process we start; its value is the folder
LONGEST_DIR = 60  # a unix socket path has 108 bytes, and kubelet adds up to 45 of its own
EPHEMERAL = 32768  # the kernel hands out ports from here on; ours stay below


@dataclass
class State:
    """What `up` decided and started; written before anything it names is created."""

    bin: str
    nodes: int
    kwok: int
    net: int
    ports: dict[str, int]
    pids: dict[str, tuple[int, str]] = field(default_factory=dict)
    second_server: bool = False
    owner: tuple[int, str] | None = None
    others: dict[str, str] = field(default_factory=dict)
    """Programs of another version than the rest: name and path."""


class Cluster:
    """A cluster in `directory`, up or not."""

    def __init__(self, directory: str | Path) -> None:
        self.dir = Path(directory).resolve()
        if len(str(self.dir)) > LONGEST_DIR:
            raise Failure(
                f"--dir is too long for unix sockets, {LONGEST_DIR} characters at most: {self.dir}. "
                "Choose a shorter one, such as /tmp/c1"
            )
        self.id = hashlib.sha256(str(self.dir).encode()).hexdigest()[:6]
        self.file = self.dir / "state.json"
        self._state = self._load()

    def _load(self) -> State | None:
        try:
            raw = json.loads(self.file.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise Failure(
                f"{self.file} is damaged ({error}). Run: ./dev cluster down --dir {self.dir}"
            ) from error
        raw["pids"] = {name: tuple(pid) for name, pid in raw["pids"].items()}
        raw["owner"] = tuple(raw["owner"]) if raw["owner"] else None
        return State(**raw)

    @property
    def exists(self) -> bool:
        """Whether `up` was ever begun here and not taken down."""
        return self._state is not None

    @property
    def state(self) -> State:
        """The recorded state. Raises Failure when there is no cluster here."""
        if self._state is None:
            raise Failure(f"no cluster in {self.dir}. Run: ./dev cluster up --dir {self.dir}")
        return self._state

    def require(self) -> None:
        """Raise Failure when there is no cluster here."""
        if not self.state.pids:
            raise Failure(f"the cluster in {self.dir} was never started completely. Run: ./dev cluster up")

    def begin(self, state: State) -> None:
        """Record a new cluster before its first process."""
        self.dir.mkdir(parents=True, exist_ok=True)
        (self.dir / "logs").mkdir(exist_ok=True)
        (self.dir / "pki").mkdir(mode=0o700, exist_ok=True)
        self._state = state
        self.save()

    def save(self) -> None:
        """Write the state file in one step."""
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(asdict(self.state), indent=1))
        part.rename(self.file)

    # -- names and addresses

    @property
    def bin(self) -> Path:
        """The programs it was started with; a changed checkout does not change a running cluster."""
        return Path(self.state.bin)

    @property
    def lock(self) -> Path:
        """Held by up and down, outside of the folder because down removes that."""
        return cache_root() / "locks" / self.id

    @property
    def bridge(self) -> str:
        """Bridge on the host; also the prefix of everything else that has a name there."""
        return f"mtc{self.id}"

    @property
    def host(self) -> str:
        """Address of the API servers and of this machine, as Pods see it."""
        return f"{self.lan}.1" if self.state.nodes else "127.0.0.1"

    @property
    def lan(self) -> str:
        """First three bytes of the network between host and nodes."""
        return f"10.{self.state.net}.255"

    def netns(self, node: int) -> str:
        """Network namespace of a node, counted from 1."""
        return f"{self.bridge}n{node}"

    def node_ip(self, node: int) -> str:
        """Address of a node on the bridge."""
        return f"{self.lan}.{10 + node}"

    def url(self, server: int = 1) -> str:
        """Address of API server 1 or 2."""
        return f"https://{self.host}:{self.state.ports['api' if server == 1 else 'api2']}"

    # -- processes

    def alive(self, name: str) -> bool:
        """Whether the process we started under this name still runs."""
        pid, born = self.state.pids.get(name, (0, ""))
        return bool(born) and born_at(pid) == born

    def start(
        self, name: str, *argv: str | Path, node: int = 0, env: Mapping[str, str] | None = None
    ) -> None:
        """Start a process unless it runs; a bare first word is a program of ours.

        Its output is appended to logs/NAME.log. With `node` it lives in that node's network namespace.
        """
        if self.alive(name):
            return
        words = [str(word) for word in argv]
        if not words[0].startswith("/"):
            words[0] = self.state.others.get(words[0], str(self.bin / words[0]))
        if node:
            # Not `ip netns exec`: that remounts /sys and hides the cgroups.
            words = ["nsenter", f"--net=/run/netns/{self.netns(node)}", *words]
        marked = {**os.environ, **(env or {}), MARK: str(self.dir)}
        with (self.dir / f"logs/{name}.log").open("ab") as log:
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.dir,
                start_new_session=True,
                env=marked,
            )
        self.state.pids[name] = (child.pid, born_at(child.pid))
        self.save()

    def stop(self, name: str, sig: signal.Signals = signal.SIGTERM, timeout: float = 5) -> None:
        """End a process, with SIGKILL after `timeout` seconds, and forget it."""
        if self.alive(name):
            pid = self.state.pids[name][0]
            os.kill(pid, sig)
            try:
                wait_for(f"{name} to stop", lambda: not self.alive(name), timeout, 0.05)
            except Failure:
                os.kill(pid, signal.SIGKILL)
                wait_for(f"{name} to die", lambda: not self.alive(name), 10, 0.05)
        self.state.pids.pop(name, None)
        self.save()

    def must_live(self, *names: str) -> bool:
        """True; raises Died with the end of the log, so that nobody waits for a dead process."""
        for name in names:
            if not self.alive(name):
                log = self.dir / f"logs/{name}.log"
                tail = read_bytes(log)[-1500:].decode(errors="replace")
                raise Died(f"{name} died. The end of {log}:\n{tail}")
        return True

    def kubectl(self, *args: str, check: bool = True, stdin: str | None = None, user: str = "admin") -> str:
        """Run kubectl as a user for whom a kubeconfig was written."""
        return run(
            self.bin / "kubectl",
            "--kubeconfig",
            self.dir / f"{user}.kubeconfig",
            *args,
            check=check,
            stdin=stdin,
        )

    def ctr(self, node: int, *args: str) -> str:
        """Run containerd's own client on a node, in the namespace of Kubernetes."""
        return run(self.bin / "ctr", "-a", self.dir / f"n{node}/ctd.sock", "-n", "k8s.io", *args)


class Died(RuntimeError):
    """A component ended by itself. Not a Failure: waiting must stop at once."""


def default_dir() -> Path:
    """Folder of the one cluster that `dev cluster up` makes for this user."""
    return Path(tempfile.gettempdir()) / f"moorage-cluster-{os.geteuid()}"


def free_ports(names: tuple[str, ...]) -> dict[str, int]:
    """A free TCP port for each name, below the range the kernel gives to outgoing connections."""
    ports: dict[str, int] = {}
    while len(ports) < len(names):
        port = random.randrange(20000, EPHEMERAL)
        if port in ports.values():
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        ports[names[len(ports)]] = port
    return ports


def processes_of(directory: Path) -> list[int]:
    """Every live process that carries our mark for this folder, recorded or not."""
    mark = f"{MARK}={directory}".encode()
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/environ")
        if mark in read_bytes(path).split(b"\0")
    ]
