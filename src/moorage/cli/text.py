"""Text from elsewhere made fit for a terminal: control characters shown, ages in words, near misses.

Called by everything that prints. Never writes anything itself.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that move the cursor, reorder text or hide it."""


def plain(text: str, *, lines: bool = False) -> str:
    r"""``text`` with every control character written out as ``\x1b``: a Pod cannot drive our terminal.

    Newlines become blanks, or stay with ``lines=True``.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(char, lines) for char in text)


def _visible(char: str, lines: bool) -> str:
    if char == "\n":
        return "\n" if lines else " "
    if char == "\t":
        return " "
    if unicodedata.category(char) in _INVISIBLE:
        return char.encode("unicode_escape", "surrogatepass").decode("ascii")
    return char


def age(seconds: float) -> str:
    """A span as kubectl shows it: ``42s``, ``12m``, ``3h``, ``5d``."""
    whole = max(0, int(seconds))
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole >= 2 * length or (unit != "m" and whole >= length):
            return f"{whole // length}{unit}"
    return f"{whole}s"


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that ``word`` most likely meant, or ``""``."""
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else ""


def signal_name(number: int) -> str:
    """``SIGTERM``; ``signal 63`` where this machine has no name for it."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def shell_line(words: Iterable[str]) -> str:
    """Words as one line that a shell reads back unchanged."""
    import shlex

    return shlex.join(words)
