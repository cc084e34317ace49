"""``./dev test``: the tiers asked for, one after the other, pytest last so that its verdict is the last line.

Every part runs even when an earlier one failed; the exit code is that of the first that did.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hatch_build import go_environment
from tools.test.options import Options, parse

ROOT = Path(__file__).resolve().parents[2]
LIGHT = "not cluster and not node"
CONTRACT = "tests/contract"
POSTGRESQL = Path("/usr/lib/postgresql")
QUICK = ("tests/contract/kube", "tests/contract/template", "tests/contract/link")
CRASHES = "tests/contract/sessions/test_crash.py"  # as long as all the rest: on the real cluster only
PROXY = "tests/contract/faults"
PLAIN = ("tests/contract/sessions/test_start.py", "tests/contract/sessions/test_stop_resume.py")


@dataclass(frozen=True)
class Part:
    """One command of a run."""

    title: str
    argv: tuple[str, ...]
    folder: str = "."


def main() -> int:
    options = parse(sys.argv[1:], os.environ)
    if options.service:
        print("dev: tier 5 (--service) has no tests yet; it comes with the server", file=sys.stderr)
        return 2
    kubectl = options.in_ci or have_kubectl()
    chosen = parts(options, ROOT, kubectl=kubectl)
    if not kubectl:
        print(
            "dev: tier 2 is left out: it needs kubectl on PATH, or the one of ./dev cluster up",
            file=sys.stderr,
        )
    if not options.in_ci and not shutil.which("bash"):
        print("dev: a test of completion is left out: it needs bash on PATH", file=sys.stderr)
    if not have_postgresql(install=options.in_ci):
        print("dev: tests of the store on PostgreSQL are left out: they need PostgreSQL 15", file=sys.stderr)
    if any("-race" in part.argv for part in chosen) and not have_compiler(os.environ):
        print("dev: go test -race needs a C compiler, and there is none on PATH", file=sys.stderr)
        print("dev: install one: apt-get install gcc libc6-dev, or set CC", file=sys.stderr)
        return 2
    environment = {**os.environ, "MOORAGE_TEST_CLUSTER": "1"} if options.cluster else dict(os.environ)
    if options.faults:
        environment["MOORAGE_FAULT_RUNS"] = options.faults
    if options.kubernetes:
        environment["MOORAGE_TEST_KUBERNETES"] = options.kubernetes
    codes = [run(part, environment) for part in chosen]
    for part, code in zip(chosen[:-1], codes[:-1], strict=True):
        if code != 0:
            print(f"dev: {part.title} failed with exit code {code}, see above", file=sys.stderr)
    return next((code for code in codes if code != 0), 0)


def have_compiler(environment: Mapping[str, str]) -> bool:
    """As root on Debian one is installed, as the packages of the test cluster are."""
    if not shutil.which(compiler(environment)) and not environment.get("CC"):
        launcher = ROOT / "tests/cluster/launcher.py"
        subprocess.run([sys.executable, launcher, "require", "gcc", "libc6-dev"], check=False)
    return shutil.which(compiler(environment)) is not None


def have_postgresql(*, install: bool) -> bool:
    """In CI it is installed, as a compiler is; there tests that need it run whether or not that went well."""
    if install and not list(POSTGRESQL.glob("*/bin/initdb")):
        launcher = ROOT / "tests/cluster/launcher.py"
        subprocess.run([sys.executable, launcher, "require", "postgresql-15"], check=False)
    return bool(list(POSTGRESQL.glob("*/bin/initdb"))) or shutil.which("initdb") is not None


def compiler(environment: Mapping[str, str]) -> str:
    return environment.get("CC", "").split(" ")[0] or "cc"


def have_kubectl() -> bool:
    """The contract tests look at a cluster with it, also at the embedded one."""
    if shutil.which("kubectl"):
        return True
    where = "from testcluster.build import bin_dir; print(bin_dir())"
    asked = subprocess.run(
        [sys.executable, "-c", where], cwd=ROOT / "tests/cluster", capture_output=True, text=True, check=False
    )
    return (Path(asked.stdout.strip()) / "kubectl").exists()


def parts(options: Options, root: Path, *, kubectl: bool = False) -> list[Part]:
    """Words for pytest mean: only pytest. ``--mutants``, ``--faults`` and ``--kubernetes`` mean: only
    these."""
    if options.mutants:
        return [mutants(options)]
    if options.faults:
        return faults(options)
    if options.kubernetes:
        return [of_version(options)]
    if options.pytest:
        return [pytest(options)]
    chosen = []
    if options.in_ci:
        chosen.append(Part("check", (sys.executable, "-m", "tools.check")))
    if (root / "agentctl/go.mod").exists():
        chosen.append(go_test(options))
    if options.in_ci:
        chosen.append(mutants(options))
    if kubectl:
        chosen += embedded(options)
    return [*chosen, pytest(options)]


def embedded(options: Options) -> list[Part]:
    """Tier 2: what is quick, and in CI all of it, and what a node in mode plain can do."""
    words = (sys.executable, "-m", "pytest", *at_once(), "--embedded")
    title = "pytest on the embedded cluster"
    if not options.in_ci:
        return [Part(title, (*words, *QUICK))]
    launcher = str(ROOT / "tests/cluster/launcher.py")
    return [
        Part("programs of the test cluster", (sys.executable, launcher, "build")),  # kubectl is among them
        Part(title, (*words, CONTRACT, f"--ignore={CRASHES}")),
        Part(f"{title}, mode plain", (*words, "--plain", *PLAIN)),
    ]


def go_test(options: Options) -> Part:
    race = ("-race",) if options.in_ci else ()
    return Part("go test", (os.environ.get("MOORAGE_GO", "go"), "test", *race, "./..."), "agentctl")


def mutants(options: Options) -> Part:
    names = (options.mutant,) if options.mutant else ()
    cluster = ("--cluster",) if options.cluster else ()
    return Part("mutants", (sys.executable, "-m", "tools.mutants", *cluster, *names))


def of_version(options: Options) -> Part:
    """Tier 3, with a control plane of another version."""
    words = (sys.executable, "-m", "pytest", *at_once(), "--cluster", *options.pytest)
    return Part(f"pytest on Kubernetes {options.kubernetes}", words)


def faults(options: Options) -> list[Part]:
    """Schedules of faults: in the embedded cluster, and in a proxy before the real API servers."""
    words = (sys.executable, "-m", "pytest")
    return [
        Part("faults in the embedded cluster", (*words, "tests/faults", *options.pytest)),
        Part("faults on the way to a real one", (*words, "--cluster", PROXY, *options.pytest)),
    ]


def pytest(options: Options) -> Part:
    tiers = () if options.cluster else ("-m", LIGHT)
    spread = () if options.pytest else at_once()  # who names tests wants to watch them, or to stop in one
    return Part("pytest", (sys.executable, "-m", "pytest", *spread, *tiers, *options.pytest))


def at_once() -> tuple[str, ...]:
    """A process for each CPU. Tests of a real cluster share it, each in a namespace of its own."""
    return ("-n", str(os.cpu_count() or 1), "--dist", "worksteal")


def run(part: Part, environment: Mapping[str, str]) -> int:
    print(f"== {part.title}", flush=True)
    own = go_environment(environment) if part.folder == "agentctl" else dict(environment)
    code = subprocess.run(part.argv, cwd=ROOT / part.folder, env=own, check=False).returncode
    return code if code >= 0 else 128 - code  # ended by a signal, as a shell says it


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
