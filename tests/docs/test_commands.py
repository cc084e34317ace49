"""Every command that the documentation shows is one that the command line takes."""

from __future__ import annotations

import re

import click
import pytest

from moorage.cli.app import root_command
from moorage.cli.command import State
from moorage.cli.terminal import Terminal
from moorage.cli.verbs import VERBS
from moorage.cli.wiring import GlobalOptions
from tests.cli.scripted import Scripted
from tests.cli.wired import ScriptedWiring
from tests.docs.pages import PAGES, Command, commands

COMMANDS = sorted({command for command in commands() if command.words != ("--version",)}, key=str)


def read(words: tuple[str, ...]) -> click.Context:
    """Read a command line down to its last verb, without running it."""
    wiring = ScriptedWiring(Scripted())
    state = State(wiring, Terminal({}), {}, GlobalOptions())
    command: click.Command = root_command()
    ctx = command.make_context("moorage", list(words), obj=state)
    while isinstance(command, click.Group) and ctx._protected_args:
        name, inner, rest = command.resolve_command(ctx, [*ctx._protected_args, *ctx.args])
        assert inner is not None
        command, ctx = inner, inner.make_context(name, rest, parent=ctx)
    return ctx


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_documented_command_has_a_verb_and_flags_that_exist(command: Command) -> None:
    if set(command.words) <= {*VERBS, "check"}:  # a verb's name in a sentence, without what it acts on
        assert command.words[0] in VERBS
    else:
        assert read(command.words).command is not None


def test_they_were_found_on_all_kinds_of_pages_and_for_most_verbs() -> None:
    assert {"README.md", "cli.md", "templates.md", "sessions.md"} <= {command.page for command in COMMANDS}
    assert len({word for command in COMMANDS for word in command.words[:1] if word in VERBS}) >= 8


def flags_of(command: click.Command) -> set[str]:
    options = [param for param in command.params if isinstance(param, click.Option)]
    own = {word for option in options for word in (*option.opts, *option.secondary_opts)}
    inner = [flags_of(leaf) for leaf in getattr(command, "commands", {}).values()]
    return own.union(*inner)


def test_every_flag_in_a_page_about_the_commands_exists() -> None:
    root = root_command()
    context = click.Context(root)
    verbs = [command for name in VERBS if (command := root.get_command(context, name))]
    known = flags_of(root).union({"--help", "-h"}, *(flags_of(command) for command in verbs))
    pages = [page for page in PAGES if page.name in ("cli.md", "sessions.md", "templates.md", "diagnoses.md")]
    assert len(pages) == 4
    for page in pages:
        named = set(re.findall(r"`(?:[^`]*\s)?(--[a-z][a-z-]*)", page.read_text()))
        assert named - known == set(), page.name
