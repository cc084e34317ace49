"""What a fuzz target is, and how its input of plain bytes becomes messages and pieces.

Used by the targets beside it, by the test that replays the corpus, and by ``./dev fuzz``. A target judges
one input: it returns when every promise held and raises when one did not. It reads no clock.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Target:
    """``check`` raises on a broken promise; ``longest`` is the largest input worth drawing, in bytes."""

    name: str
    check: Callable[[bytes], None]
    longest: int = 4096
    others: Callable[[], list[bytes]] = list  # inputs that other tests keep, in their own form

    @property
    def folder(self) -> Path:
        return CORPUS / self.name

    def corpus(self) -> list[Path]:
        """The inputs that are kept, in a fixed order."""
        return sorted(path for path in self.folder.iterdir() if path.is_file())

    def starts(self) -> list[bytes]:
        """What to look near: the corpus and the inputs of other tests."""
        return [path.read_bytes() for path in self.corpus()] + self.others()


def messages(data: bytes) -> Iterator[bytes]:
    """Cut an input into messages: two bytes of length before each; the last takes what is left."""
    while len(data) >= 2:
        length = int.from_bytes(data[:2], "big")
        yield data[2 : 2 + length]
        data = data[2 + length :]


def joined(parts: list[bytes]) -> bytes:
    """The input that ``messages`` cuts into these."""
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)


def pieces(data: bytes) -> list[bytes]:
    """The same bytes as they may arrive: cut at places that depend on nothing but the bytes."""
    chance = random.Random(zlib.crc32(data))
    count = min(len(data), chance.choice((1, 2, 3, 8, 64)))
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(count))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
