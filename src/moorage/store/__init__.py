"""What must survive a crash: records, transcripts, encrypted secrets. ``main`` opens it.

The names below are imported on use: completion reads ``store.glance`` and has no time for SQLAlchemy.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.store.open import SqlStore, open_store
    from moorage.store.owners import current_owner

__all__ = ["SqlStore", "current_owner", "open_store"]


def __getattr__(name: str) -> Any:
    if name in ("SqlStore", "open_store"):
        from moorage.store import open as opened

        return getattr(opened, name)
    if name == "current_owner":
        from moorage.store.owners import current_owner

        return current_owner
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
