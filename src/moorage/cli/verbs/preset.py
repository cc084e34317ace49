"""``moorage preset``: the agents that ``run`` knows by name."""

from __future__ import annotations

from typing import Any

import click

from moorage.cli.command import Call, VerbGroup, verb
from moorage.cli.output import print_list, print_object
from moorage.cli.tables import table
from moorage.cli.text import nearest, plain
from moorage.cli.verbs import VERBS
from moorage.core.errors import NotFound
from moorage.core.presets import Preset, Way


def preset_object(preset: Preset, place: str) -> dict[str, Any]:
    """As documented in docs/cli.md; ``{args}``, ``{prompt}`` and ``{state}`` as the file has them."""
    return {
        "kind": "Preset",
        "name": preset.name,
        "title": preset.title,
        "place": place,
        "batch": _way(preset.batch),
        "terminal": _way(preset.terminal),
        "secrets": list(preset.secrets),
        "state": dict(preset.state),
        "git_exclude": list(preset.git_exclude),
        "prompt_required": preset.prompt_required,
    }


def _way(way: Way) -> dict[str, Any]:
    return {
        "prompt": way.prompt.value,
        "argv": list(way.argv),
        "resume": list(way.resume),
        "resume_prompt": way.resume_prompt,
    }


@verb(
    "ls",
    help="""List the agents that `moorage run AGENT` knows.

    Those that come with Moorage, and yours: files NAME.toml in the folder presets beside your settings
    file.""",
    examples=("moorage preset ls", "moorage preset ls -o json"),
)
async def ls(call: Call) -> int:
    shelf = call.wiring.presets()
    found = [(shelf.get(name), shelf.place(name)) for name in shelf.names()]
    rows = [[p.name, p.title, " ".join(p.batch.argv), ", ".join(p.secrets), place] for p, place in found]
    header = ["NAME", "TITLE", "COMMAND", "SECRETS", "PLACE"]
    print_list(
        call,
        [preset_object(preset, place) for preset, place in found],
        lambda: table(call.terminal, header, rows, flexible=("COMMAND", "SECRETS", "PLACE")),
    )
    return 0


@verb(
    "show",
    help="""Show how an agent is called, and what of it stays in the workspace.

    {args} stands for the words after --, {prompt} for the prompt, {state} for a folder in the workspace.""",
    examples=("moorage preset show claude-code", "moorage preset show codex -o yaml"),
)
@click.argument("preset", metavar="NAME")
async def show(call: Call, preset: str) -> int:
    shelf = call.wiring.presets()
    if preset not in shelf.names():
        near = nearest(preset, shelf.names())
        raise NotFound(
            f"there is no preset {preset!r}",
            field="NAME",
            hint=f"did you mean {near}?" if near else f"presets here: {', '.join(shelf.names())}",
        )
    one = shelf.get(preset)
    print_object(call, preset_object(one, shelf.place(preset)), lambda: _lines(one, shelf.place(preset)))
    return 0


def _lines(preset: Preset, place: str) -> str:
    rows = [("name", preset.name), ("title", preset.title), ("place", place)]
    for title, way in (("batch", preset.batch), ("terminal", preset.terminal)):
        said = f', told "{way.resume_prompt}"' if way.resume_prompt else ""
        rows.append((title, f"{' '.join(way.argv)}   (prompt: {way.prompt.value})"))
        rows.append((f"{title}, resumed", f"{' '.join(way.resume)}{said}"))
    rows.append(("one secret of", ", ".join(preset.secrets) or "-"))
    rows += [(f"sets {name}", value) for name, value in preset.state.items()]
    rows.append(("git leaves out", ", ".join(preset.git_exclude) or "-"))
    width = max(len(key) for key, _ in rows)
    return "".join(f"{key:<{width}}  {plain(value)}\n" for key, value in rows)


command = VerbGroup("preset", help=VERBS["preset"].summary, commands=[ls, show])
