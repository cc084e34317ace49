#!/usr/bin/env python3
"""A real Kubernetes cluster for tests, on this machine, built from Go modules only.

Called by `./dev cluster ...` and by hand. Standard library only. It parses arguments and prints;
the work is in the package testcluster beside it. docs/test-cluster.md describes what one gets.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

sys.dont_write_bytecode = True

from testcluster import audit, lifecycle, provisioner, requirements  # noqa: E402
from testcluster.build import bin_dir, build  # noqa: E402
from testcluster.cluster import Cluster, Died, default_dir  # noqa: E402
from testcluster.controlplane import compact  # noqa: E402
from testcluster.identity import kubeconfig  # noqa: E402
from testcluster.images import Image, build_images, write_image  # noqa: E402
from testcluster.node import import_image, import_pinned  # noqa: E402
from testcluster.shell import Failure, say  # noqa: E402


def parser() -> argparse.ArgumentParser:
    """All commands. `--dir` may stand before or after the command."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--dir", default=argparse.SUPPRESS, help=f"folder and identity of the cluster ({default_dir()})"
    )
    root = argparse.ArgumentParser(prog="./dev cluster", description=__doc__, parents=[shared])
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, parents=[shared])

    up = command("up", "start what is not running; also the repair command")
    up.add_argument("--nodes", type=int, choices=(1, 2), default=None, help="real nodes (1)")
    up.add_argument(
        "--kwok", type=int, default=None, metavar="N", help="fake amd64 nodes, plus one arm64 (0)"
    )
    up.add_argument(
        "--kubernetes", default="", metavar="V", help="version of the control plane, such as 1.32"
    )
    up.add_argument("--owner", type=int, default=0, metavar="PID", help="the test run it belongs to")
    up.add_argument("--dry-run", action="store_true", help="only say what would be created")
    for sub in (up, command("build", "compile the programs and print their folder")):
        sub.add_argument(
            "--control-plane-only", action="store_true", help="no real node: needs neither root nor gcc"
        )
    command("down", "remove everything up made")
    command("status", "processes and nodes")
    config = command("kubeconfig", "print the path of a kubeconfig, admin by default")
    config.add_argument("--user", help="write one for this user, who has no rights until RBAC gives some")
    config.add_argument("--group", default="testcluster-users")
    config.add_argument(
        "--server", type=int, choices=(1, 2), default=1, help="which API server (2: start apiserver-2)"
    )
    for name, text in (
        ("start", "start a component, such as apiserver-2"),
        ("stop", "stop a component"),
        ("restart", "stop and start a component; data and Pods stay"),
    ):
        command(name, text).add_argument("component")
    command("compact", "drop etcd's history: old versions answer 410 Gone")
    writes = command("writes", "writes by user agent, verb and resource, from the audit log")
    writes.add_argument("--agent", default="", help="only user agents that contain this")
    packages = command("require", "install Debian packages that are missing (as root), or name them")
    packages.add_argument("package", nargs="+", choices=sorted(requirements.EVERY))
    command("provisioner", "serve volumes (started by up)")
    image = commands.add_parser("image", help="write or import test images").add_subparsers(
        dest="action", required=True
    )
    archive = image.add_parser(
        "import", parents=[shared], help="import an OCI or docker archive into every node"
    )
    archive.add_argument("tar", type=Path)
    archive.add_argument("--pin", metavar="REF", help="also name the image REF by its digest, and print that")
    make = image.add_parser("build", parents=[shared], help="write a one-layer image")
    make.add_argument("tar", type=Path)
    make.add_argument("--ref", required=True, help="such as localhost/mine:test")
    make.add_argument("--file", action="append", default=[], metavar="INSIDE=HERE", help="may be repeated")
    make.add_argument("--entrypoint", nargs="*", default=[])
    make.add_argument("--user", default="")
    make.add_argument("--arch", default="amd64", help="architecture label")
    return root


def main(argv: list[str]) -> int:
    """Run one command; 0, or 1 with a message that says what, why and what to do."""
    args = parser().parse_args(argv)
    try:
        cluster = Cluster(
            getattr(args, "dir", None) or os.environ.get("MOORAGE_TEST_CLUSTER_DIR") or default_dir()
        )
        COMMANDS[args.command](cluster, args)
    except (Failure, Died) as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; `./dev cluster down` removes what was made, `up` goes on with it")
        return 130
    return 0


def _up(cluster: Cluster, args: argparse.Namespace) -> None:
    nodes, kwok = args.nodes, args.kwok or 0
    if args.control_plane_only:
        if nodes:
            raise Failure("--control-plane-only and --nodes exclude each other")
        nodes = 0
    elif nodes is None:
        nodes = cluster.state.nodes if cluster.exists else 1
    if args.dry_run:
        lifecycle.announce(cluster, nodes, kwok)
        return
    try:
        current = lifecycle.up(cluster, nodes, kwok, args.owner, args.kubernetes)
    except (Failure, Died):
        if Cluster(cluster.dir).exists:
            say(f"not complete: `./dev cluster down --dir {cluster.dir}` removes what was made")
        raise
    say(f"up: export KUBECONFIG={current.dir}/admin.kubeconfig")


def _down(cluster: Cluster, args: argparse.Namespace) -> None:
    found = lifecycle.down(cluster)
    say(f"down: {cluster.dir}" if found else f"nothing to take down in {cluster.dir}")


def _status(cluster: Cluster, args: argparse.Namespace) -> None:
    print(f"folder     {cluster.dir}\nbinaries   {bin_dir()}")
    if not cluster.exists:
        print("not up")
        return
    for name, (pid, _) in cluster.state.pids.items():
        print(f"{name:20} {'running' if cluster.alive(name) else 'DEAD':8} pid {pid}")
    print(cluster.kubectl("get", "nodes", "-o", "wide", check=False), end="")


def _kubeconfig(cluster: Cluster, args: argparse.Namespace) -> None:
    cluster.require()
    if args.server == 2 and not cluster.alive(lifecycle.SECOND):
        raise Failure(f"the second API server does not run. Start it: ./dev cluster start {lifecycle.SECOND}")
    name, user, group = "admin", "admin", "system:masters"
    if args.user:
        name, user, group = f"user-{args.user}", args.user, args.group
    print(kubeconfig(cluster, name, user, group, args.server))


def _build(cluster: Cluster, args: argparse.Namespace) -> None:
    folder = build(not args.control_plane_only)
    if not args.control_plane_only:
        build_images(folder)
    print(folder)


def _image(cluster: Cluster, args: argparse.Namespace) -> None:
    if args.action == "import":
        print(
            import_pinned(cluster, args.tar, args.pin)
            if args.pin
            else import_image(cluster, args.tar).rstrip()
        )
        return
    files = {}
    for pair in args.file:
        inside, _, here = pair.partition("=")
        if not here or not Path(here).is_file():
            raise Failure(f"--file {pair}: want INSIDE=HERE with an existing file HERE")
        files[inside] = Path(here)
    write_image(args.tar, Image(args.ref, files, entrypoint=args.entrypoint, user=args.user, arch=args.arch))
    print(args.tar)


def _writes(cluster: Cluster, args: argparse.Namespace) -> None:
    log = audit.AuditLog(cluster)
    for key, count in audit.count(log.events(agent=args.agent, writes=True)).most_common():
        print(f"{count:7}  {'  '.join(key)}")


COMMANDS: dict[str, Callable[[Cluster, argparse.Namespace], None]] = {
    "up": _up,
    "down": _down,
    "status": _status,
    "kubeconfig": _kubeconfig,
    "build": _build,
    "image": _image,
    "writes": _writes,
    "require": lambda cluster, args: requirements.require(args.package),
    "start": lambda cluster, args: lifecycle.start(cluster, args.component),
    "stop": lambda cluster, args: lifecycle.stop(cluster, args.component),
    "restart": lambda cluster, args: lifecycle.restart(cluster, args.component),
    "compact": lambda cluster, args: print(compact(cluster)),
    "provisioner": lambda cluster, args: provisioner.serve(cluster),
}


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
