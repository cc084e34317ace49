"""Moorage: one agent session, one Pod, one workspace that outlives it.

``from moorage import Sandbox`` gives the SDK (docs/sdk.md), opened by the composition root. Nothing of it is
loaded before a name is asked for: the command line imports this package too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.sdk.names import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if not name[:1].isupper():  # a submodule, asked for before it is loaded
        raise AttributeError(f"module 'moorage' has no attribute {name!r}")
    from moorage import main
    from moorage.sdk import names

    if name not in names.__all__:
        raise AttributeError(f"module 'moorage' has no attribute {name!r}")

    main.wire_sdk()
    return getattr(names, name)
