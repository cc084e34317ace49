"""The agent of every soaked session, and what its transcript must hold. Pure.

The agent numbers its runs in the workspace and the lines of each run, in bursts and one by one, and says how
many there were when it is asked to end. So whatever is missing, twice, or of other bytes can be told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from moorage.ports.link import Gap, Output

FILLER = "the quick brown fox jumps over the lazy dog"
AGENT = (
    "sh",
    "-c",
    f"""cd /workspace; exec 2>/dev/null
r=$(cat runs 2>/dev/null || echo 0); r=$((r + 1)); echo $r > runs.new; mv runs.new runs
i=0
trap 'echo "end $r $i"; exit 0' TERM
while :; do
  echo "$r $((i += 1)) {FILLER}"
  [ $((i % 40)) -gt 20 ] || {{ sleep 0.2 & wait $!; }}
done""",
)
_LINE = re.compile(rf"([0-9]+) ([0-9]+) {FILLER}")
_END = re.compile(r"end ([0-9]+) ([0-9]+)")


@dataclass
class Transcript:
    """What was read of a session from its first byte on. ``lost``: in words, whatever breaks a promise."""

    data: bytes = b""
    lost: list[str] = field(default_factory=list)


def joined(pieces: Sequence[Output | Gap]) -> Transcript:
    """The bytes of a transcript, each piece at the end of the one before. A gap is a loss: the journal is
    never full here, and no Pod goes before its output was taken."""
    read, data = Transcript(), bytearray()
    for piece in pieces:
        if piece.offset != len(data):
            read.lost.append(f"transcript goes on at byte {piece.offset}, not at {len(data)}")
            return read
        if isinstance(piece, Gap):
            read.lost.append(f"gap of {piece.length} bytes at byte {piece.offset}")
            return read
        data += piece.data
    read.data = bytes(data)
    return read


def check_lines(text: bytes, kills: int) -> list[str]:
    """What is wrong with the agent's words. Only a run whose container was killed (there were ``kills``) may
    end without a last word, in the middle of a line, or before its first one."""
    reader = _Reader(kills)
    for spoken in text.decode(errors="replace").splitlines():
        reader.read(spoken)
    return reader.over(whole=text.endswith(b"\n"))


class _Reader:
    """Where in the numbering a transcript is: ``line`` of ``run``, which has said its last word or not."""

    def __init__(self, kills: int) -> None:
        self._kills = kills
        self._run = self._line = self._cut = 0
        self._ended = True
        self._torn = ""
        self._lost: list[str] = []

    def read(self, spoken: str) -> None:
        if self._torn:
            self._lose(f"there is {self._torn[:60]!r}")
            self._torn = ""
        if found := _LINE.fullmatch(spoken):
            self._line_of(int(found[1]), int(found[2]))
        elif found := _END.fullmatch(spoken):
            self._end_of(int(found[1]), int(found[2]))
        elif (later := self._next_after(spoken)) is not None:
            self._begin(later)
            self._line, self._ended = (1, False) if spoken.endswith(FILLER) else (0, True)
        else:
            self._torn = spoken  # allowed as the very last thing of a killed run

    def _lose(self, what: str) -> None:
        self._lost.append(f"after line {self._line} of run {self._run} {what}")

    def _line_of(self, run: int, line: int) -> None:
        if run != self._run:
            self._begin(run)
        if self._ended or line != self._line + 1:
            self._lose(f"comes line {line} of run {run}")
        self._line = line

    def _end_of(self, run: int, line: int) -> None:
        if run != self._run:
            self._begin(run)
        if self._ended or line != self._line:
            self._lose(f"run {run} says that it had {line} lines")
        self._ended = True

    def _begin(self, run: int) -> None:
        """The runs between, if there are any, were killed before their first word."""
        self._cut += (not self._ended) + max(0, run - self._run - 1)
        if run < self._run:
            self._lose(f"comes run {run}")
        self._run, self._line, self._ended = run, 0, False

    def _next_after(self, spoken: str) -> int | None:
        """The later run whose first words follow, in one line, the torn last ones of this run."""
        for run in range(self._run + 1, self._run + self._kills + 1):
            for first in (f"{run} 1 {FILLER}", f"end {run} 0"):
                if spoken.endswith(first) and self._may_be_torn(spoken.removesuffix(first)):
                    return run
        return None

    def _may_be_torn(self, words: str) -> bool:
        run, line = self._run, self._line
        wholes = (f"{run} {line + 1} {FILLER}", f"end {run} {line}")
        return not self._ended and any(whole.startswith(words) for whole in wholes)

    def over(self, *, whole: bool) -> list[str]:
        """``whole``: the last line has its end."""
        if self._ended and self._run and not whole:
            self._lose("the end of the line is missing")
        if self._torn and not self._may_be_torn(self._torn):
            self._lose(f"there is {self._torn[:60]!r}")
        cut = self._cut + (not self._ended)
        if cut > self._kills:
            self._lost.append(f"{cut} runs ended without a last word, and {self._kills} were killed")
        return self._lost


class Heard:
    """What somebody who followed a session was given, over any number of followings."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.lost: list[str] = []

    def take(self, piece: Output | Gap) -> None:
        """The next piece: it must go on where the last one ended, also in a later following."""
        if isinstance(piece, Gap):
            self.lost.append(f"the follower was told of a gap of {piece.length} bytes at {piece.offset}")
        elif piece.offset != len(self.data):
            self.lost.append(f"the follower was given byte {piece.offset} after byte {len(self.data)}")
        else:
            self.data += piece.data

    def against(self, transcript: bytes) -> list[str]:
        """What of it is not what the transcript says."""
        if transcript.startswith(self.data):
            return []
        pairs = enumerate(zip(self.data, transcript, strict=False))
        other = next((place for place, (ours, theirs) in pairs if ours != theirs), len(transcript))
        return [f"the follower was given {len(self.data)} bytes; from {other} on the transcript has others"]
