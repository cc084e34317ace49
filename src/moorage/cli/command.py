"""What a verb is: a click command that takes the global flags and runs one coroutine with a ``Call``.

Verb modules use ``verb``; ``cli.app`` makes the ``Call``. Nothing here opens a session.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from moorage.cli import flags
from moorage.cli.forms import Form, parse_form
from moorage.cli.suggesting import suggest_values
from moorage.cli.terminal import Terminal
from moorage.cli.text import nearest
from moorage.cli.wiring import GlobalOptions, Wiring
from moorage.core.errors import UsageError

if TYPE_CHECKING:
    from moorage.ports.sessions import SessionVerbs

AFTER_DASHES = "moorage.after_dashes"
"""Key in click's context for the words after ``--``; None when there was no ``--``."""


HELP_FLAGS: Final = ("-h", "--help")
"""Told by each command itself: click asks the context, and keeps whatever the first one said."""


@dataclass(frozen=True)
class Call:
    """One use of the command line: who wired it, the global flags, the terminal."""

    wiring: Wiring
    options: GlobalOptions
    terminal: Terminal
    typed: GlobalOptions
    """The flags without what settings add to them."""

    @functools.cached_property
    def form(self) -> Form:
        """The form of data on stdout."""
        return parse_form(self.options.output or "table")

    @property
    def output(self) -> str:
        """Its kind: table, wide, json, yaml, name, jsonpath or custom-columns."""
        return self.form.kind

    @asynccontextmanager
    async def sessions(self) -> AsyncIterator[SessionVerbs]:
        """The verbs of sessions, closed afterwards."""
        verbs = await self.wiring.sessions(self.options)
        try:
            yield verbs
        finally:
            await verbs.close()

    def default(self, flag: str, given: str | None, fallback: str = "") -> str:
        """A flag's value: as typed, else from the settings, else ``fallback``."""
        if given:
            return given
        return self.wiring.setting(flag) or fallback


class VerbCommand(click.Command):
    """A verb. Its help opens with examples and ends with the global flags.

    ``takes_command``: words after ``--`` are a command for the Pod; they are never read as flags.
    ``groups``: titles in the help, each with the names of its parameters; the others are *Flags*.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        takes_command: bool = False,
        groups: Mapping[str, Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("options_metavar", "[FLAGS]")
        kwargs["params"] = [*(kwargs.get("params") or []), *flags.global_flags()]
        suggest_values(kwargs["params"])
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.takes_command = takes_command
        self.groups = {name: title for title, names in (groups or {}).items() for name in names}

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        return list(HELP_FLAGS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[AFTER_DASHES] = None
        if self.takes_command and "--" in args:
            cut = args.index("--")
            ctx.meta[AFTER_DASHES] = tuple(args[cut + 1 :])
            args = args[:cut]
        try:
            return super().parse_args(ctx, args)
        except click.exceptions.BadOptionUsage as error:
            error.ctx = error.ctx or ctx  # click's parser does not say whose flag lacks its value
            raise

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        pieces = [piece for piece in super().collect_usage_pieces(ctx) if piece]
        return [*pieces, "--", "CMD…"] if self.takes_command else pieces

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        self.format_options(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in self.groups.values()}
        sections |= {"Flags": [], "Global flags": []}
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if record is not None:
                own = param in self.params and not isinstance(param, flags.GlobalFlag)
                title = self.groups.get(param.name or "", "Flags") if own else "Global flags"
                sections[title].append(record)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=28)


class VerbGroup(click.Group):
    """A group of verbs: an unknown one gets its nearest."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("options_metavar", "")
        kwargs.setdefault("subcommand_metavar", "VERB …")
        super().__init__(*args, **{"no_args_is_help": False, **kwargs})

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        return list(HELP_FLAGS)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            rows = [(name, command.get_short_help_str(70)) for name, command in self.commands.items()]
            formatter.write_dl(rows, col_max=28)
        with formatter.section("Flags"):
            records = [param.get_help_record(ctx) for param in self.get_params(ctx)]
            formatter.write_dl([record for record in records if record is not None], col_max=28)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word, known = args[0], self.list_commands(ctx)
        if word not in known and not ctx.resilient_parsing:
            raise unknown_verb(ctx, word, known)
        return super().resolve_command(ctx, args)


def unknown_verb(ctx: click.Context, word: str, known: Sequence[str]) -> UsageError:
    """The error for a word that is none of the verbs of ``ctx``'s command."""
    near, path = nearest(word, known), ctx.command_path
    hint = f"did you mean `{path} {near}`?" if near else f"`{path} --help` lists the verbs"
    return UsageError(f"there is no verb {word!r}", hint=hint)


Body = Callable[..., Coroutine[Any, Any, int]]


def verb(
    name: str,
    *,
    help: str,
    examples: Sequence[str],
    takes_command: bool = False,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Body], VerbCommand]:
    """Make a coroutine ``(call, **flags) -> exit code`` a verb. Flags are click decorators below it."""

    def wrap(body: Body) -> VerbCommand:
        @functools.wraps(body)
        def start(**values: Any) -> int:
            import asyncio
            import logging

            from moorage.cli.signals import interruptible

            # The library's own words ("socket.send() raised exception.") are no news to a person.
            logging.getLogger("asyncio").addHandler(logging.NullHandler())
            ctx = click.get_current_context()
            call = make_call(ctx, values)
            own = {key: value for key, value in values.items() if key not in flags.NAMES}
            return asyncio.run(interruptible(body(call, **own)))

        return click.command(
            name,
            cls=VerbCommand,
            help=help,
            examples=examples,
            takes_command=takes_command,
            groups=groups,
        )(start)

    return wrap


def make_call(ctx: click.Context, values: dict[str, Any]) -> Call:
    """The ``Call`` of this context: the root's flags overruled by the verb's."""
    state = ctx.find_object(State)
    assert state is not None, "the root command makes the state"
    merged = flags.merge(state.outer, values)
    typed = GlobalOptions(**merged)
    merged["output"] = merged.get("output") or state.wiring.setting("output")
    if merged["output"]:
        parse_form(merged["output"])  # settings were not read by the parser
    for key in ("no_color", "no_input", "quiet"):
        merged[key] = bool(merged.get(key)) or _is_on(state.wiring.setting(key))
    options = GlobalOptions(**merged)
    state.options = options
    state.terminal.no_color = options.no_color
    state.terminal.no_input = options.no_input
    state.terminal.quiet = options.quiet
    return Call(state.wiring, options, state.terminal, typed)


@dataclass
class State:
    """What ``cli.app`` keeps while one command line is worked on; the flags as far as they are known."""

    wiring: Wiring
    terminal: Terminal
    outer: dict[str, Any]
    options: GlobalOptions
    verb: str = ""


def words_after_dashes() -> tuple[str, ...] | None:
    """The words after ``--``; None when there was no ``--``."""
    words: tuple[str, ...] | None = click.get_current_context().meta[AFTER_DASHES]
    return words


def _is_on(text: str) -> bool:
    return text.lower() in ("1", "true", "yes", "on")
