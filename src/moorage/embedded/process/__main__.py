"""``python -m moorage.embedded.process``: the embedded cluster in the foreground, or detached.

Started by ``./dev embedded`` (foreground, for a person) and by ``process.finding`` (detached, with nothing
of the environment). Detached, it forks before anything is loaded; the first process waits until the second
answers and tells on stdout what went wrong if it does not.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.embedded.process.serving import Running

_LOG_BYTES = 1 << 20
_TOLD_BYTES = 1 << 16


def main() -> int:
    options = _parser().parse_args()
    options.data = options.data.expanduser().absolute()
    return _detached(options) if options.detach else _foreground(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev embedded",
        description="The embedded cluster in the foreground. It is for one person on one machine and "
        "isolates nothing. Ctrl-C ends it and the containers it runs; objects and volumes stay in DIR.",
    )
    parser.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder it lives in")
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="write the kubeconfig here too (0600)"
    )
    parser.add_argument(
        "--mode", choices=("auto", "namespaces", "plain"), default="auto", help="see docs/embedded.md"
    )
    parser.add_argument("--detach", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--idle", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--hide", type=Path, action="append", default=[], help=argparse.SUPPRESS)
    return parser


def _foreground(options: argparse.Namespace) -> int:
    def ready(running: Running) -> None:
        from moorage.embedded.node.registration import NOT_ISOLATED
        from moorage.embedded.process.kubeconfig import write_copy

        kubeconfig = running.cluster.kubeconfig
        if options.kubeconfig is not None:
            kubeconfig = options.kubeconfig.expanduser().absolute()
            write_copy(running.cluster, kubeconfig)
        mode = running.mode + (f" ({running.why})" if running.why else "")
        sys.stderr.write(f"mode {mode}; {NOT_ISOLATED}\n")
        sys.stderr.write("Ctrl-C ends it and the containers it runs; objects and volumes stay\n")
        sys.stdout.write(f"ready: {running.cluster.address} kubeconfig {kubeconfig}\n")
        sys.stdout.flush()

    why = _serve(options, ready)
    if why:
        sys.stderr.write(f"error: {why}\n")
    return 1 if why else 0


def _detached(options: argparse.Namespace) -> int:
    options.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        told = os.read(reading, _TOLD_BYTES).decode(errors="replace")
        if told != "ready":
            sys.stdout.write(told or "it ended before it was ready")
        return 0 if told == "ready" else 1
    os.close(reading)
    _leave(options.data / "log")

    def ready(running: Running) -> None:
        os.write(writing, b"ready")
        os.close(writing)

    why = _serve(options, ready)
    if why:
        sys.stderr.write(f"{why}\n")
        try:
            os.write(writing, why.encode())
        except OSError:
            return 1  # it had been ready
    return 1 if why else 0


def _leave(log: Path) -> None:
    """No terminal, no folder of anybody's, output into a private log; the last one of some size is kept."""
    os.setsid()
    os.chdir("/")
    os.umask(0o022)
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_name("log.1"))
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)


def _serve(options: argparse.Namespace, ready: object) -> str:
    """ "" after an orderly end, else what went wrong and what to do."""
    from moorage.core.errors import MoorageError
    from moorage.embedded.process.serving import serve
    from moorage.embedded.seam import NodeError

    try:
        asyncio.run(serve(options.data, ready, idle=options.idle, mode=options.mode, hidden=options.hide))  # type: ignore[arg-type]
    except MoorageError as error:
        return f"{error.message}\n  hint: {error.hint}" if error.hint else error.message
    except NodeError as error:
        return str(error)
    except OSError as error:
        place = error.filename or options.data
        return f"cannot write {place}: {error.strerror or error}\n  hint: {_way_out(error)}"
    return ""


def _way_out(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space on the disk that holds it"
    return "give another place, one that you may write to"


if __name__ == "__main__":
    sys.exit(main())
