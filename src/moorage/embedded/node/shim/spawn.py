"""Starts one process in (or of) a container. Called by ``shim.containers`` and ``shim.commands``.

Between shim and process stands a short-lived parent that enters or makes the namespaces; the kernel then
gives the process to the shim (a subreaper), which learns its end. In mode plain that parent stays instead: it
collects what the process leaves behind and ends with it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import socket
import stat
import struct
import termios
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from . import mounts, syscalls, users
from .reap import keep

START_LIMIT = 30.0
NOT_EXECUTED = 255
"""The exit code of a process whose program the kernel refused to execute, as runc has it."""
_UNLOCK_TERMINAL, _TERMINAL_NUMBER = 0x40045431, 0x80045430
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Stdio(NamedTuple):
    """The process's three streams; ``terminal``: it opens a terminal of its own instead."""

    stdin: int
    stdout: int
    stderr: int
    terminal: bool = False


class Spawned(NamedTuple):
    """``pid``: the process; ``waited``: whose end the shim waits for (the same one, or its keeper).

    ``files``: the terminal's master if it has one, and in mode plain a pipe that tells how it ended.
    """

    pid: int
    waited: int
    files: list[int]


class StartError(Exception):
    """The process could not be started; the message is in a runtime's words."""


def spawn(spec: dict[str, Any], stdio: Stdio, enter: Callable[[], None], settle: Callable[[], None],
          started: Callable[[int], None] = lambda pid: None) -> Spawned:  # fmt: skip
    """Start ``spec`` (argv, env, cwd, user, mode). ``enter`` runs before the fork that makes the process,
    ``settle`` in the process; ``started(pid)`` in the shim once it exists and before it goes on. Raises
    StartError."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stays = spec["mode"] == "plain"
    told: tuple[int, int] | None = os.pipe() if stays else None
    parent = os.fork()
    if parent == 0:
        ours.close()
        _parent(spec, stdio, theirs, enter, settle, told)
    theirs.close()
    if told is not None:
        os.close(told[1])
    try:
        pid, files = _meet(ours, parent, stays=stays, started=started)
    except BaseException:
        if told is not None:
            os.close(told[0])
        raise
    finally:
        ours.close()
    return Spawned(pid, parent if stays else pid, [*files, *([told[0]] if told is not None else [])])


def _meet(
    ours: socket.socket, parent: int, *, stays: bool, started: Callable[[int], None]
) -> tuple[int, list[int]]:
    ours.settimeout(START_LIMIT)
    files: list[int] = []
    try:
        pid = int(_message(ours)["pid"])
        if not stays:
            os.waitpid(parent, 0)
        started(pid)
        ours.send(b"go")
        while True:
            data, fds, _, _ = socket.recv_fds(ours, 65536, 4)
            files += fds
            if not data:
                return pid, files
            said = json.loads(data)
            if "error" in said:
                raise StartError(said["error"])
    except (OSError, ValueError, StartError) as error:
        for fd in files:
            os.close(fd)
        raise error if isinstance(error, StartError) else StartError(f"it did not start: {error}") from None


def _message(end: socket.socket) -> dict[str, Any]:
    data = end.recv(65536)
    if not data:
        raise StartError("the process ended before it began")
    said: dict[str, Any] = json.loads(data)
    if "error" in said:
        raise StartError(said["error"])
    return said


def _parent(spec: dict[str, Any], stdio: Stdio, end: socket.socket, enter: Callable[[], None],
            settle: Callable[[], None], told: tuple[int, int] | None) -> None:  # fmt: skip
    """Never returns."""
    try:
        _default_signals()
        enter()
        pid = os.fork()
        if pid == 0:
            _process(spec, stdio, end, settle, told)
        end.send(json.dumps({"pid": pid}).encode())
        end.close()
        if told is not None:
            os.close(told[0])
            keep(pid, told[1])
        os._exit(0)
    except BaseException as error:
        _tell(end, f"{error}")
    finally:
        os._exit(1)


def _process(spec: dict[str, Any], stdio: Stdio, end: socket.socket, settle: Callable[[], None],
             told: tuple[int, int] | None) -> None:  # fmt: skip
    """Becomes the program, or tells why not. Never returns."""
    try:
        if told is not None:
            os.close(told[0])
            os.close(told[1])
        if not end.recv(16):
            os._exit(1)  # the shim is gone
        os.setsid()
        os.umask(0o022)
        settle()
        user = spec["user"]
        users.become(user, namespaces=spec["mode"] != "plain", privileged=user["privileged"])
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        _streams(stdio, end)
        _directory(spec["cwd"])
        _become(spec["argv"], spec["env"])
    except BaseException as error:
        _tell(end, str(error))
    finally:
        os._exit(1)


def _default_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


def _streams(stdio: Stdio, end: socket.socket) -> None:
    ends: tuple[int, int, int] = stdio[:3]
    if stdio.terminal:
        slave = _terminal(end)
        ends = (slave, slave, slave)
    for target, source in enumerate(ends):
        os.dup2(source, target)


def _terminal(end: socket.socket) -> int:
    """Open a terminal here, where its name means something, and hand its master to the shim."""
    master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    fcntl.ioctl(master, _UNLOCK_TERMINAL, struct.pack("i", 0))
    number = struct.unpack("i", fcntl.ioctl(master, _TERMINAL_NUMBER, b"\0" * 4))[0]
    slave = os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    socket.send_fds(end, [b"{}"], [master])
    return slave


def _directory(path: str) -> None:
    try:
        os.chdir(path)
    except FileNotFoundError:
        with contextlib.suppress(OSError):
            os.makedirs(path, exist_ok=True)
        os.chdir(path)


def _become(argv: list[str], env: dict[str, str]) -> NoReturn:
    """What is not a program is found out before (StartError). What only the kernel refuses, such as another
    platform's program, has started by then: the runtime says it on the container's stderr, and that ends."""
    name = argv[0]
    program = _program(name, env)
    try:
        os.execve(program, argv, env)  # noqa: S606  the container's own program
    except OSError as error:
        os.write(2, f"exec {program}: {_why(error)}\n".encode())
        os._exit(NOT_EXECUTED)


def _why(error: OSError) -> str:
    """In the words of Go, which the runtimes are written in."""
    if error.errno == errno.ENOEXEC:
        return "exec format error"
    return (error.strerror or str(error)).lower()


def _program(name: str, env: dict[str, str]) -> str:
    if "/" in name:
        try:
            status = os.stat(name)
        except OSError as error:
            raise StartError(f'exec: "{name}": stat {name}: {_why(error)}') from None
        if stat.S_ISDIR(status.st_mode):
            raise StartError(f'exec: "{name}": is a directory')
        if not os.access(name, os.X_OK):
            raise StartError(f'exec: "{name}": permission denied')
        return name
    for folder in env.get("PATH", DEFAULT_PATH).split(":"):
        path = os.path.join(folder or ".", name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise StartError(f'exec: "{name}": executable file not found in $PATH')


def _tell(end: socket.socket, error: str) -> None:
    with contextlib.suppress(OSError):
        end.send(json.dumps({"error": error}).encode())


def build_tree(spec: dict[str, Any]) -> None:
    """``settle`` of a container in mode namespaces."""
    mounts.build(spec)
