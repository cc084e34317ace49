"""What a shell is offered for the value of each flag and argument, by its name.

``cli.command`` and ``cli.app`` give the parameters their suggestions; a shell's question runs them. They ask
the local store and the kubeconfig, never a cluster, and nothing is imported before a question comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Words = Callable[[click.Context, str], "list[CompletionItem]"]

_KEEP_ARCHIVED: Final = ("logs", "describe", "events", "rm")
"""Verbs that can do something with an archived session."""


class Suggesting(click.types.StringParamType):
    """Text like any other; only a shell is told more."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return self._words(ctx, incomplete)


def suggest_values(params: Iterable[click.Parameter]) -> None:
    """Give the parameters of one verb their suggestions, where they are free text and there are any."""
    for param in params:
        table = OPTIONS if isinstance(param, click.Option) else ARGUMENTS
        if param.name in table and isinstance(param.type, click.types.StringParamType):
            param.type = Suggesting(table[param.name])


def _items(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def _path(kind: str) -> Words:
    def words(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=kind)]

    return words


def _choice(values: Callable[[], Iterable[str]]) -> Words:
    return lambda ctx, incomplete: _items(values(), incomplete)


def _given(ctx: click.Context, name: str) -> str:
    """A global flag as typed so far, before or after the verb."""
    at: click.Context | None = ctx
    while at is not None:
        if value := at.params.get(name):
            return str(value)
        at = at.parent
    return ""


def _names(ctx: click.Context) -> list[str]:
    from moorage.cli.command import State

    state = ctx.find_object(State)
    assert state is not None, "whoever answers a shell makes the state"
    typed = ctx.params.get("names") or ()
    known = state.wiring.session_names(_given(ctx, "data_dir"), archived=ctx.info_name in _KEEP_ARCHIVED)
    return [name for name in known if name not in typed]


def _sessions(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    return _items(_names(ctx), incomplete)


def _places(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """For cp: sessions as ``NAME:``, else files of this machine."""
    sessions = [f"{name}:" for name in _names(ctx)]
    return (_items(sessions, incomplete) if incomplete else []) or _path("file")(ctx, incomplete)


def _contexts(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    from moorage.cli.command import State

    state = ctx.find_object(State)
    assert state is not None, "whoever answers a shell makes the state"
    return _items(state.wiring.context_names(_given(ctx, "kubeconfig")), incomplete)


def _verbs(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    shown: click.Command = ctx.find_root().command
    for word in ctx.params.get("verbs") or ():
        found = shown.get_command(ctx, word) if isinstance(shown, click.Group) else None
        if found is None:
            return []
        shown = found
    return _items(shown.list_commands(ctx), incomplete) if isinstance(shown, click.Group) else []


def _modes() -> tuple[str, ...]:
    from moorage.core.session import WorkspaceMode

    return tuple(mode.value for mode in WorkspaceMode)


def _access_modes() -> tuple[str, ...]:
    from moorage.core.workspace_spec import ACCESS_MODES

    return ACCESS_MODES


def _launch_choice(name: str) -> Callable[[], Iterable[str]]:
    def values() -> tuple[str, ...]:
        from moorage.cli import launching

        return {
            "helper": launching.HELPERS,
            "platform": launching.PLATFORMS,
            "transport": launching.TRANSPORTS,
        }[name]

    return values


def _list_choice(name: str) -> Callable[[], Iterable[str]]:
    def values() -> tuple[str, ...]:
        from moorage.cli.verbs import ls

        return {"state": ls.WORDS, "sort_by": ls.SORTS}[name]

    return values


def _settings(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    from moorage.cli.command import State
    from moorage.core.errors import MoorageError

    state = ctx.find_object(State)
    assert state is not None, "whoever answers a shell makes the state"
    try:
        return _items([one.name for one in state.wiring.settings(state.options)], incomplete)
    except MoorageError:
        return []


def _conditions() -> Iterable[str]:
    from moorage.cli.waiting import CONDITIONS

    return CONDITIONS


def _addresses() -> Iterable[str]:
    from moorage.cli.verbs.port_forward import ADDRESSES

    return ADDRESSES


def _presets(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    from moorage.cli.command import State

    state = ctx.find_object(State)
    assert state is not None, "whoever answers a shell makes the state"
    return _items(state.wiring.presets().names(), incomplete)


def _agent_or_path(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """For run: an agent first, then directories of this machine."""
    agents = [] if ctx.params.get("words") else _presets(ctx, incomplete)
    return agents or _path("dir")(ctx, incomplete)


def _shells() -> tuple[str, ...]:
    from moorage.cli.completion import SHELLS

    return SHELLS


OPTIONS: Final[dict[str, Words]] = {
    "context": _contexts,
    "kubeconfig": _path("file"),
    "data_dir": _path("dir"),
    "template": _path("file"),
    "env_file": _path("file"),
    "prompt_file": _path("file"),
    "source": _path("dir"),
    "bundle": _path("file"),
    "file": _path("file"),
    "address": _choice(_addresses),
    "workspace": _choice(_modes),
    "access_mode": _choice(_access_modes),
    "helper": _choice(_launch_choice("helper")),
    "platform": _choice(_launch_choice("platform")),
    "transport": _choice(_launch_choice("transport")),
    "condition": _choice(_conditions),
    "state": _choice(_list_choice("state")),
    "sort_by": _choice(_list_choice("sort_by")),
}
"""By parameter name. ``-o`` is a choice by itself."""

ARGUMENTS: Final[dict[str, Words]] = {
    "name": _sessions,
    "names": _sessions,
    "source": _places,
    "target": _places,
    "words": _agent_or_path,
    "preset": _presets,
    "file": _path("file"),
    "shell": _choice(_shells),
    "setting": _settings,
    "chosen": _contexts,
    "verbs": _verbs,
}
