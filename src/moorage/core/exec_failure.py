"""What it means that a command of ours in a container ended before it answered. Pure.

Called by ``engine.bootstrap``. The runtime's words tell what no try will mend (a mount that forbids
execution, a program of another machine) from a container that is only between two starts.
"""

from __future__ import annotations

import re

from moorage.core.errors import LinkError, MoorageError


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
