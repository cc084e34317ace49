"""What it means that a command of ours in a container ended before it answered. Pure.

Called by ``engine.bootstrap`` and ``core.bootstrap``. The runtime's words tell what no try will mend (a mount
that forbids execution, a program of another machine) from a container that is only between two starts.
"""

from __future__ import annotations

import re

from moorage.core.errors import LinkError, MoorageError
from moorage.core.wire.exec import UNTOLD

_NOT_STARTED = (126, 127)
"""Of a shell, and of runtimes: the program cannot be run, or is not there."""
_BY_SIGNAL = 128
_CANNOT_START = re.compile(
    r"no such file or directory|executable file not found|permission denied|operation not permitted"
    r"|exec format error|(?:not|is) a directory|unable to find (?:user|group)",
    re.IGNORECASE,
)
"""How the kernel and the runtimes say that a program of the image does not start, whenever it is tried. What
else a runtime says is of the moment, in ever new words: most often the container ended under the exec."""

_CONTAINER_WENT = re.compile(r"/proc/\d+/ns/\w+: no such file or directory", re.IGNORECASE)
"""The container's own process was gone before the runtime could join it."""


def exec_ended(said: str, code: int | None) -> MoorageError:
    """The error to raise: with ``details['category']`` noexec or platform, else a LinkError (try again)."""
    message = f"the command in the container ended (code {code}): {said}"
    if re.search(r"permission denied|operation not permitted", said, re.IGNORECASE):
        hint = "allow execution on emptyDir volumes of this node: they lie in its kubelet's folder"
        return MoorageError(message, hint=hint, details={"category": "noexec"})
    if re.search(r"exec format error", said, re.IGNORECASE):
        hint = "does the node's architecture fit the session's platform?"
        return MoorageError(message, hint=hint, details={"category": "platform"})
    return LinkError(message, hint="is agentctl installed in the container?")


def cut_short(code: int | None, reason: str, errors: str) -> bool:
    """Whether a script of ours, which says how it went whichever way it goes, did not come to say it: the
    stream was cut, its output got lost, or its container was killed. Another try may do better."""
    if _CONTAINER_WENT.search(errors):
        return True
    if code is None:
        return reason in UNTOLD or (bool(errors) and not _CANNOT_START.search(errors))
    if code == 0 or code > _BY_SIGNAL:
        return True
    return code not in _NOT_STARTED and not errors
