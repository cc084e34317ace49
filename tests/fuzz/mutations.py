"""Inputs near those of a corpus, drawn from a seed: the bounded run of CI, and where there is no atheris.

Deterministic: the same corpus, seed and number give the same input.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

BYTES = (b"\x00", b"\xff", b"\n", b"\t", b'"', b"{", b"&a", b"*a", b"\\", b"\r")
EDGES = (*BYTES, b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"9" * 5000, b"[" * 600)


def near(corpus: Sequence[bytes], seed: int, count: int, longest: int) -> Iterator[bytes]:
    """``count`` inputs, each from one of the corpus by one to six changes."""
    chance = random.Random(seed)
    for _ in range(count):
        data = bytearray(chance.choice(corpus))
        for _ in range(chance.choice((1, 1, 2, 3, 6))):
            change(data, corpus, chance)
        yield bytes(data[:longest])


def change(data: bytearray, corpus: Sequence[bytes], chance: random.Random) -> None:
    """One change in place: a bit, a byte, a piece gone, doubled, moved or taken from another input."""
    place = chance.randrange(len(data) + 1)
    length = chance.choice((1, 2, 4, 9, 32))
    match chance.randrange(6):
        case 0 if place < len(data):
            data[place] ^= 1 << chance.randrange(8)
        case 1 if place < len(data):
            data[place] = chance.randrange(256)
        case 2:
            del data[place : place + length]
        case 3:
            data[place:place] = data[place : place + length] * chance.choice((1, 2, 50))
        case 4:
            data[place:place] = chance.choice(EDGES)
        case _:
            other = chance.choice(corpus)
            start = chance.randrange(len(other) + 1)
            data[place : place + length] = other[start : start + chance.choice((4, 40, 400))]
