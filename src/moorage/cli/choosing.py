"""Which sessions a command is about: by name, from a file of names, by labels, or all. Used by ls and rm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from moorage.cli.shapes import labels_of
from moorage.cli.small_file import LIMIT, check_size, read_small_file, read_stdin
from moorage.core.errors import UsageError
from moorage.core.label_selector import parse
from moorage.ports.sessions import SessionView


def by_labels(selector: str) -> Callable[[SessionView], bool]:
    """Is a session chosen by ``-l``? By the labels its Pod has or would have; "" chooses all. UsageError."""
    fits = parse(selector)
    return lambda view: fits is None or fits(labels_of(view.session))


@dataclass(frozen=True)
class Choice:
    """Which sessions, as typed. Names and ``file`` go together; ``everything`` and ``selector`` each stand
    alone."""

    names: tuple[str, ...] = ()
    file: str = ""
    selector: str = ""
    everything: bool = False

    def check(self) -> None:
        """UsageError unless it says which in exactly one way."""
        ways = {"names": bool(self.names or self.file), "-l": bool(self.selector), "--all": self.everything}
        given = [way for way, used in ways.items() if used]
        if len(given) > 1:
            raise UsageError(f"{given[1]} and {given[0]} exclude each other", hint="leave out one of them")
        if not given:
            raise UsageError(
                "say which sessions to remove", hint="moorage rm NAME…, rm -l KEY=VALUE, or moorage rm --all"
            )
        parse(self.selector)

    @property
    def listed(self) -> bool:
        """Is it a choice among what is there, so that finding none is no error?"""
        return self.everything or bool(self.selector)

    @property
    def words(self) -> Sequence[str]:
        """As they were typed, for a command that is told to a person."""
        file = ("-f", self.file) if self.file else ()
        selector = ("-l", self.selector) if self.selector else ()
        return [*(("--all",) if self.everything else ()), *selector, *file, *self.names]

    async def given(self) -> list[str]:
        """Names typed, then those of the file."""
        return [*self.names, *(await read_names(self.file) if self.file else ())]

    def among(self, views: Sequence[SessionView]) -> list[str]:
        """The names of those chosen of what is there."""
        chosen = by_labels(self.selector)
        return [view.session.name for view in views if chosen(view)]


async def read_names(file: str) -> list[str]:
    """One session a line, as ``ls -o name`` prints them; blank lines and ``#`` comments are skipped. ``-`` is
    stdin. NotFound for a file that cannot be read; UsageError for one without a name, or with more than one
    word in a line."""
    data = _read(file)
    try:
        lines = [line.strip() for line in data.decode().splitlines()]
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text", field="-f", hint="save it as UTF-8") from error
    names = [line for line in lines if line and not line.startswith("#")]
    if wrong := next((name for name in names if len(name.split()) > 1), None):
        raise UsageError(
            f"{file} holds {wrong[:60]!r}, which is no session's name",
            field="-f",
            hint="one name a line, as `moorage ls -o name` prints them",
        )
    if not names:
        raise UsageError(f"{file} names no session", field="-f", hint="one name a line")
    return names


def _read(file: str) -> bytes:
    if file != "-":
        hint = "-f takes a file of names; to skip drain and link write --force"
        return read_small_file(file, "file of names", field="-f", hint=hint)
    data = read_stdin(LIMIT + 1, field="-f")
    check_size(data, file, "-f")
    return data
