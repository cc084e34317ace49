"""The root of the command line: reads argv, runs one verb, turns every outcome into an exit code.

``main`` calls ``run_cli``. This module imports no verb: ``--help`` is answered from ``verbs.VERBS``.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import traceback
from typing import Any, TypeGuard

import click

from moorage.cli import failures, flags
from moorage.cli.command import AFTER_DASHES, State, VerbCommand, VerbGroup
from moorage.cli.overview import OVERVIEW
from moorage.cli.suggesting import suggest_values
from moorage.cli.terminal import OutputClosed, Terminal
from moorage.cli.terminated import Terminated
from moorage.cli.text import is_slip, nearest
from moorage.cli.verbs import ALIASES, ELSEWHERE, VERBS
from moorage.cli.wiring import GlobalOptions, Wiring
from moorage.core.errors import MoorageError, UsageError

PROGRAM = "moorage"
COMPLETION_VARIABLE = "_MOORAGE_COMPLETE"
"""Set by a shell that asks for completions (the same as completion.VARIABLE, which is loaded late)."""
_EXAMPLES = (
    "moorage run --context dev -n ai --template pod.yaml --source . -- make test",
    "moorage ls",
    "moorage attach NAME",
    "moorage template check pod.yaml",
)


class Root(VerbGroup):
    """``moorage``: knows its verbs by name and imports only the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = VERBS.get(ALIASES.get(cmd_name, cmd_name))
        if entry is None:
            return None
        command = importlib.import_module(f"moorage.cli.verbs.{entry.module}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word in ELSEWHERE and not ctx.resilient_parsing:
            raise UsageError(f"there is no verb {word!r}", hint=ELSEWHERE[word])
        return super().resolve_command(ctx, [ALIASES.get(word, word), *args[1:]])

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(PROGRAM, "[GLOBAL FLAGS] VERB …")
        self.format_help_text(ctx, formatter)
        with formatter.section("Examples"):
            for example in _EXAMPLES:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        for section in dict.fromkeys(entry.section for entry in VERBS.values()):
            with formatter.section(section):
                rows = [(name, e.summary) for name, e in VERBS.items() if e.section == section]
                formatter.write_dl(rows, col_max=28)
        with formatter.section("Global flags"):
            records = [param.get_help_record(ctx) for param in self.get_params(ctx)]
            formatter.write_dl([record for record in records if record is not None], col_max=28)
        formatter.write("\n`moorage help VERB` explains one verb.\n")


def _root(**values: Any) -> None:
    state = click.get_current_context().find_object(State)
    assert state is not None
    state.outer = values
    state.verb = click.get_current_context().invoked_subcommand or ""
    if not state.verb:
        state.terminal.data(OVERVIEW)


def root_command() -> Root:
    """A fresh root, for one command line or for reading the parser (docs, completion)."""
    version = click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_print_version
    )
    version.help = "Print the version of this program."
    params = [*flags.global_flags(), version]
    suggest_values(params)
    return Root(
        PROGRAM,
        callback=_root,
        params=params,
        invoke_without_command=True,
        help="Runs AI agents on Kubernetes: one session, one Pod, one workspace that outlives it.",
        context_settings={"terminal_width": 80},
    )


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    state = ctx.find_object(State)
    assert state is not None
    state.terminal.data(f"{PROGRAM} {state.wiring.versions().client}\n")
    ctx.exit(0)


def run_cli(argv: list[str], wiring: Wiring) -> int:
    """Run one command line (without the program's name) and return the process's exit code.

    Never raises. Ctrl-C is 130; a reader of stdout that went away is 141, without a word.
    """
    _fill_descriptors()
    terminal = Terminal(wiring.environ)
    state = State(wiring, terminal, {}, GlobalOptions())
    instruction = wiring.environ.get(COMPLETION_VARIABLE)
    try:
        if instruction:
            from moorage.cli.completion import complete

            return complete(state, root_command(), instruction)
        return _run(argv, state)
    except MoorageError as error:
        code = _failed(state, error, argv)
        _drop_unwritable()
        return code
    except KeyboardInterrupt:
        return failures.INTERRUPTED
    except Terminated as end:
        return 128 + end.number
    except OutputClosed:
        _drop_stdout()
        return failures.BROKEN_PIPE
    except Exception as error:  # the one place where a fault of ours becomes an exit code
        return _failed(state, _internal(state, error), argv)


def _run(argv: list[str], state: State) -> int:
    root = root_command()
    try:
        with root.make_context(PROGRAM, list(argv), obj=state) as ctx:
            result = root.invoke(ctx)
            return result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        return int(done.exit_code)
    except click.Abort as abort:
        raise KeyboardInterrupt from abort
    except click.ClickException as error:
        raise _as_usage(error, state) from error


def _as_usage(error: click.ClickException, state: State) -> UsageError:
    """click's complaint in our form."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    path = ctx.command_path if ctx is not None else f"{PROGRAM} {state.verb}".rstrip()
    hint = f"`{path} --help` shows how it is used"
    if isinstance(error, click.exceptions.NoSuchOption):
        if _lacks_dashes(ctx):
            hint = f"the command and its flags stand after --: {_usage(ctx)}"
        near = list(error.possibilities or ())[:1] or [nearest(error.option_name, _flags_of(ctx))]
        if near[0] and is_slip(error.option_name, near[0]):
            hint = f"did you mean {near[0]}?"
        return UsageError(f"there is no flag {error.option_name}", hint=hint)
    message = error.format_message().rstrip(".")
    if ctx is not None and isinstance(ctx.command, click.Group) and message == "Missing command":
        return UsageError("say what to do", hint=f"`{path} --help` lists the verbs")
    if isinstance(error, click.exceptions.BadOptionUsage):
        hint = f"write {_form(ctx, error.option_name)}; {hint}"
    elif isinstance(error, click.exceptions.MissingParameter) and isinstance(error.param, click.Option):
        hint = f"write {_form(ctx, error.param.opts[0])}; {hint}"
    elif type(error) in (click.UsageError, click.exceptions.MissingParameter) and ctx is not None:
        hint = f"write {_usage(ctx)}; {hint}"
    return UsageError(message[:1].lower() + message[1:], hint=hint)


def _lacks_dashes(ctx: click.Context | None) -> TypeGuard[click.Context]:
    """Is it a verb that takes a command, and was none set apart by ``--``?"""
    takes = ctx is not None and isinstance(ctx.command, VerbCommand) and ctx.command.takes_command
    return takes and ctx is not None and ctx.meta.get(AFTER_DASHES) is None


def _usage(ctx: click.Context) -> str:
    """``moorage exec [FLAGS] NAME -- CMD…``"""
    return " ".join([ctx.command_path, *ctx.command.collect_usage_pieces(ctx)])


def _form(ctx: click.Context | None, flag: str) -> str:
    """A flag with what it takes and what it is for: ``--state WORD: only this status``."""
    params: list[click.Parameter] = [*flags.global_flags()]
    if ctx is not None:
        params = ctx.command.get_params(ctx)
    found = next((one for one in params if isinstance(one, click.Option) and flag in one.opts), None)
    if found is None or not found.metavar:
        return flag
    told = (found.help or "").rstrip(".")
    return f"{flag} {found.metavar}: {told[:1].lower()}{told[1:]}" if told else f"{flag} {found.metavar}"


def _flags_of(ctx: click.Context | None) -> list[str]:
    if ctx is None:
        return []
    return [word for param in ctx.command.get_params(ctx) for word in param.opts if word.startswith("--")]


def _failed(state: State, error: MoorageError, argv: list[str]) -> int:
    as_json = state.options.output == "json" or (not state.options.output and _asks_json(argv))
    failures.print_error(state.terminal, error, as_json=as_json, verbose=state.options.verbosity > 0)
    entry = VERBS.get(state.verb)
    return failures.exit_code(error, carries_command=entry is not None and entry.carries_command)


def _asks_json(argv: list[str]) -> bool:
    """Did a command line that could not be read ask for JSON?"""
    words = argv[: argv.index("--")] if "--" in argv else argv
    pairs = itertools.pairwise(words)
    return any(pair in (("-o", "json"), ("--output", "json")) for pair in pairs) or any(
        word in ("-ojson", "--output=json") for word in words
    )


def _internal(state: State, error: Exception) -> MoorageError:
    if state.options.verbosity >= 2:
        state.terminal.say_lines("".join(traceback.format_exception(error)).rstrip())
    return MoorageError(
        f"a fault in Moorage itself ({type(error).__name__})",
        hint="run it again with -vv and report the traceback",
    )


def _fill_descriptors() -> None:
    """Put /dev/null where stdin, stdout or stderr is closed: the next file opened (a database, say) would
    get its number, and an agent's output with it."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one


def _drop_unwritable() -> None:
    """What cannot be written now (a full disk) cannot be written at exit either: it was told already."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _drop_stdout()


def _drop_stdout() -> None:
    """Keep Python from complaining, at exit, about a stdout nobody reads."""
    if sys.stdout is None:
        return
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.close(devnull)
