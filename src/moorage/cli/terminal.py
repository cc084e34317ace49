"""The three standard streams as a person sees them: what is a terminal, what may be coloured.

Made once per command by ``cli.app``. Data goes to stdout, everything else to stderr. Raw bytes of agents
do not pass here: see ``cli.streams``.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from moorage.cli.text import plain
from moorage.core.errors import MoorageError

UNLIMITED = 100_000
"""Width used where nothing is cut: off a terminal."""


class OutputClosed(Exception):
    """Whoever read our stdout has gone: nothing more can be said there."""


def unwritable(error: OSError) -> MoorageError:
    """What to say when stdout or stderr cannot take data."""
    return MoorageError(
        f"cannot write the output: {error.strerror}", hint="see whether the disk it goes to is full"
    )


@dataclass
class Terminal:
    """``no_color``, ``no_input`` and ``quiet`` are the flags; ``environ`` the person's environment."""

    environ: Mapping[str, str]
    no_color: bool = False
    no_input: bool = False
    quiet: bool = False
    raw: bool = False
    """Set while the terminal is in raw mode: a new line then needs its carriage return."""

    @property
    def stdin_tty(self) -> bool:
        return _is_tty(sys.stdin)

    @property
    def stdout_tty(self) -> bool:
        return _is_tty(sys.stdout)

    @property
    def stderr_tty(self) -> bool:
        return _is_tty(sys.stderr)

    @property
    def can_ask(self) -> bool:
        """May a question be put to a person? Both ends of the talk must be a terminal."""
        return self.stdin_tty and self.stderr_tty and not self.no_input

    def colour(self, *, stderr: bool = False) -> bool:
        """NO_COLOR and --no-color win, then CLICOLOR_FORCE, then: a terminal that is not dumb."""
        if self.no_color or self.environ.get("NO_COLOR"):
            return False
        if self.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
            return True
        if self.environ.get("TERM") == "dumb":
            return False
        return self.stderr_tty if stderr else self.stdout_tty

    def width(self) -> int:
        """Columns for tables: on a terminal COLUMNS, else its own; off a terminal nothing is cut, also
        where a shell exports the COLUMNS of its own terminal."""
        if not self.stdout_tty:
            return UNLIMITED
        columns = self.environ.get("COLUMNS", "")
        if columns.isdigit() and int(columns) > 0:
            return int(columns)
        return shutil.get_terminal_size((80, 24)).columns

    def data(self, text: str) -> None:
        """Write text to stdout and flush it. Raises OutputClosed when nobody reads it any more, and
        MoorageError when it cannot be written (a full disk)."""
        if sys.stdout is None:
            raise OutputClosed
        try:
            sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
            sys.stdout.buffer.flush()
        except (BrokenPipeError, ValueError) as error:
            raise OutputClosed from error
        except OSError as error:
            raise unwritable(error) from error

    def say(self, text: str) -> None:
        """A line for the person, on stderr. Never fails: a lost notice must not end a command.

        It stays one line whatever it quotes: a newline in it is shown, as all control characters are.
        """
        self.say_prefixed("", text)

    def say_prefixed(self, prefix: str, text: str) -> None:
        """As ``say``, with a prefix of our own that may hold colour."""
        self._write(prefix + plain(text, lines=True).replace("\n", "\\n"))

    def say_lines(self, text: str) -> None:
        """As ``say``, for a text of our own that has several lines: a script, a traceback."""
        self._write(plain(text, lines=True))

    def _write(self, text: str) -> None:
        if sys.stderr is None:
            return
        try:
            line = text + "\n"
            sys.stderr.write(line.replace("\n", "\r\n") if self.raw else line)
            sys.stderr.flush()
        except (OSError, ValueError):
            return

    def prompt(self, text: str) -> None:
        """The start of a line on stderr that a person will end. Only where ``can_ask``."""
        sys.stderr.write(plain(text))
        sys.stderr.flush()

    def note(self, text: str) -> None:
        """A notice that ``-q`` silences."""
        if not self.quiet:
            self.say(text)


def _is_tty(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
