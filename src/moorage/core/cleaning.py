"""Text that came from a cluster, made safe to print: bounded, one line, no control characters.

Called wherever a message of a Pod, event, webhook or proxy enters a diagnosis. A container may write what
it likes into its status, including terminal escapes, bidirectional overrides and a megabyte of anything.
"""

from __future__ import annotations

import re
import unicodedata

MESSAGE_LIMIT = 600
"""Characters of a cleaned message, the ellipsis included."""

_SCAN_LIMIT = 16 * MESSAGE_LIMIT
_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]?"  # CSI: colours, cursor
    r"|\x1b[ -~]?"
)
_URL_LOGIN = re.compile(r"(?P<scheme>\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://)[^/\s@\"']{1,512}@")
_BEARER = re.compile(r"(?i)\b(?P<word>bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
# Only after "=": "secret: not found" and the like are words of the cluster itself.
_ASSIGNED = re.compile(
    r"(?i)(?P<name>(?:token|secret|passw(?:or)?d|pwd|api[_-]?key|access[_-]?key|signature|credential)"
    r"[\w-]{0,40}[\"']?=)(?:\"[^\"]*\"?|'[^']*'?|[^\s\"',;&])+"
)
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean(text: object, limit: int = MESSAGE_LIMIT) -> str:
    """One printable line of at most ``limit`` characters. Logins in URLs, bearer tokens and what is
    assigned to a name like ``token=`` or ``password=`` are masked."""
    if not isinstance(text, str):
        return ""
    plain = _ESCAPES.sub("", text[:_SCAN_LIMIT])
    plain = "".join(" " if unicodedata.category(c) in _UNSAFE_CATEGORIES else c for c in plain)
    plain = " ".join(plain.split())
    plain = _URL_LOGIN.sub(r"\g<scheme>***@", plain)
    plain = _BEARER.sub(r"\g<word> ***", plain)
    plain = _ASSIGNED.sub(r"\g<name>***", plain)
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"
