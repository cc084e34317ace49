"""The generated table of docs/presets.md: what each preset that comes with Moorage does. Made from its data.

The first table of the page is written anew, all else is written by hand and stays. Used by ``tools.docs`` and
by the test that the page is current.
"""

from __future__ import annotations

import re

from moorage.core.presets import Preset, Way
from moorage.presets import Presets

HEADER = (
    "| agent | called with | resumed with | its prompt | one secret of | state |\n|---|---|---|---|---|---|\n"
)
_TABLE = re.compile(rf"^{re.escape(HEADER.splitlines()[0])}\n(?:\|.*\n)*", re.M)


def table() -> str:
    """Two rows an agent: without a terminal, and with one."""
    shelf = Presets()
    return HEADER + "".join(_rows(shelf.get(name)) for name in shelf.names())


def _rows(preset: Preset) -> str:
    secrets = ", ".join(f"`{name}`" for name in preset.secrets) or "none"
    state = ", ".join(f"`{name}`" for name in preset.state)
    batch, terminal = _way(preset.batch), _way(preset.terminal)
    return f"| `{preset.name}` | {batch} | {secrets} | {state} |\n| with `-t` | {terminal} | | |\n"


def _way(way: Way) -> str:
    return f"`{' '.join(way.argv)}` | `{' '.join(way.resume)}` | {way.prompt.value}"


def renewed(page: str) -> str:
    """The page with its table as it should be."""
    return _TABLE.sub(lambda _: table(), page, count=1)
