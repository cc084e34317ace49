"""Who we are as a lease holder, and whether another holder on this very host still lives.

``main`` calls ``current_owner`` once; ``store.leases`` asks ``died_here``. Reads /proc, writes nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
from pathlib import Path

from moorage.ports.store import Owner

_PROC = Path("/proc")
_PROGRAM = re.compile(r"(?:.*/)?moorage(?:/__main__\.py)?")
_VERB = re.compile(r"[a-z]{2,12}")


def current_owner() -> Owner:
    """This process. ``host`` also tells apart containers and machines that share a host name: a pid
    means something only within one boot and one pid namespace."""
    pid = os.getpid()
    return Owner(_host(), pid, start_time(pid) or "")


def died_here(holder: Owner, us: Owner) -> bool:
    """True only when ``holder`` ran on our host and is certainly gone: no such pid, a zombie, or the pid
    now belongs to a process that started at another time."""
    if holder.host != us.host:
        return False
    if (_PROC / "self").exists():
        started = start_time(holder.pid)
        return started is None or started != holder.started
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def describe(holder: Owner, us: Owner) -> str:
    """Who a holder is, for messages: ``moorage run (pid 4242 on this machine)``, ``pid 7 on build-3``."""
    if holder.host != us.host:
        return f"pid {holder.pid} on {holder.host.partition('/')[0]}"
    return f"{_command(holder.pid)} (pid {holder.pid} on this machine)"


def _command(pid: int) -> str:
    """``moorage VERB`` of a running process. The rest of its words is left out: they may hold a secret."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "a process"
    program = next((at for at, word in enumerate(words) if _PROGRAM.fullmatch(word)), None)
    if program is None:
        return Path(words[0]).name or "a process"
    before = "moorage"
    for word in words[program + 1 :]:
        if not before.startswith("-") and _VERB.fullmatch(word):  # a word after a flag may be its value
            return f"moorage {word}"
        before = word
    return "moorage"


def _host() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text()
        namespace = str((_PROC / "self/ns/pid").readlink())
    except OSError:  # not Linux: the name alone has to do
        return socket.gethostname()
    return f"{socket.gethostname()}/{hashlib.sha256((boot + namespace).encode()).hexdigest()[:8]}"


def start_time(pid: int) -> str | None:
    """Start time in clock ticks since boot (field 22 of stat); None when nothing runs under ``pid``."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the command before it may hold blanks and brackets
    state, started = fields[0], fields[19]
    return None if state in "ZX" else started
