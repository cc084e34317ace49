"""``moorage config``: the settings in force and where each comes from; changes of the user's own file."""

from __future__ import annotations

from typing import Any

import click

from moorage.cli.command import Call, VerbGroup, verb
from moorage.cli.output import print_list, print_object
from moorage.cli.tables import table
from moorage.cli.text import nearest, plain
from moorage.cli.verbs import VERBS
from moorage.cli.wiring import SettingInForce
from moorage.core.errors import NotFound, UsageError


def setting_object(one: SettingInForce) -> dict[str, Any]:
    """``value`` and ``source`` are null where nothing is set and there is no default."""
    return {
        "kind": "Setting",
        "name": one.name,
        "value": one.value or None,
        "source": one.source or None,
        "meaning": one.meaning,
    }


@verb(
    "list",
    help="""Show all settings, and where each comes from.

    The first that is set counts: flag, MOORAGE_* variable, project file, user file, default. No secret is
    shown.""",
    examples=("moorage config list", "moorage config list -o jsonpath='{.items[*].name}'"),
)
async def list_all(call: Call) -> int:
    found = call.wiring.settings(call.typed)
    rows = [[one.name, one.value, one.source] for one in found]
    print_list(
        call,
        [setting_object(one) for one in found],
        lambda: table(call.terminal, ["NAME", "VALUE", "SOURCE"], rows, flexible=("VALUE", "SOURCE")),
    )
    return 0


def find(call: Call, name: str) -> SettingInForce:
    """The setting of this name; UsageError with the nearest one."""
    known = {one.name: one for one in call.wiring.settings(call.typed)}
    word = name.replace("-", "_")
    if word not in known:
        near = nearest(word, known)
        hint = f"did you mean {near}?" if near else "`moorage config list` lists them"
        raise UsageError(f"there is no setting {name!r}", field="NAME", hint=hint)
    return known[word]


@verb(
    "get",
    help="""Print the value of one setting.

    Ends with 3 when it is not set and has no default.""",
    examples=("moorage config get context", "moorage config get template -o json"),
)
@click.argument("setting", metavar="NAME")
async def get(call: Call, setting: str) -> int:
    one = find(call, setting)
    if not one.value:
        raise NotFound(f"{one.name} is not set", hint=f"moorage config set {one.name} VALUE")
    print_object(call, setting_object(one), lambda: f"{plain(one.value)}\n")
    return 0


@verb(
    "set",
    help="""Set a value in your own settings file.

    Comments and order of the file are kept. A value that is none is refused, and nothing is changed.""",
    examples=("moorage config set namespace agents", "moorage config set template ~/pods/agent.yaml"),
)
@click.argument("setting", metavar="NAME")
@click.argument("value", metavar="VALUE")
async def set_value(call: Call, setting: str, value: str) -> int:
    name = setting.replace("-", "_")
    call.wiring.change_settings({name: value})
    file = call.wiring.user_file()
    call.terminal.note(f"{name} is set in {file}")
    one = find(call, name)
    if one.source not in (file, ""):
        call.terminal.say(f"warning: {one.source} goes before it: {name} is {one.value}")
    return 0


@verb(
    "unset",
    help="""Remove a value from your own settings file.

    What holds then is the default, or what a variable or project file says.""",
    examples=("moorage config unset context",),
)
@click.argument("setting", metavar="NAME")
async def unset(call: Call, setting: str) -> int:
    name = setting.replace("-", "_")
    changed = call.wiring.change_settings({name: None})
    file = call.wiring.user_file()
    call.terminal.note(f"{name} is removed from {file}" if changed else f"{name} does not stand in {file}")
    one = find(call, name)
    if one.source not in ("default", ""):
        call.terminal.say(f"warning: {one.source} still sets it: {name} is {one.value}")
    return 0


@verb(
    "path",
    help="""Print where your own settings file lies, whether it is there or not.

    It lies in the configuration folder, or in MOORAGE_CONFIG_DIR.""",
    examples=("moorage config path",),
)
async def path(call: Call) -> int:
    file = call.wiring.user_file()
    print_object(call, {"kind": "SettingsFile", "name": file}, lambda: f"{file}\n")
    return 0


command = VerbGroup("config", help=VERBS["config"].summary, commands=[list_all, get, set_value, unset, path])
