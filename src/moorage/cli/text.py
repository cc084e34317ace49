"""Text from elsewhere made fit for a terminal: control characters shown, ages in words, near misses.

Called by everything that prints. Never writes anything itself.
"""

from __future__ import annotations

import difflib
import itertools
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
    """The known word that ``word`` most likely meant, or ``""``: of the similar ones the first that needs
    the fewest slips of a finger, and then one that begins alike (``rum`` is ``run``, not ``rm``)."""
    similar = difflib.get_close_matches(word, list(known), n=5, cutoff=0.6)
    return min(similar, key=lambda one: (_slips(word, one), -_begins_alike(word, one)), default="")


def is_slip(typed: str, meant: str) -> bool:
    """May ``typed`` be a slip of the pen for ``meant``? Not where more than half of the letters are wrong:
    nobody who types ``--all`` means ``--as``."""
    wrote, letters = typed.lstrip("-"), meant.lstrip("-")
    return len(letters) >= len(wrote) or _slips(wrote, letters) * 2 <= len(letters)


def _begins_alike(one: str, other: str) -> int:
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same)


def _slips(one: str, other: str) -> int:
    """Characters to insert, drop, change or swap with the next (edit distance with transpositions)."""
    before, last = list[int](), list(range(len(other) + 1))
    for row, char in enumerate(one, 1):
        now = [row]
        for at, wanted in enumerate(other, 1):
            cost = min(last[at] + 1, now[-1] + 1, last[at - 1] + (char != wanted))
            if row > 1 and at > 1 and char == other[at - 2] and one[row - 2] == wanted:
                cost = min(cost, before[at - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]


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
