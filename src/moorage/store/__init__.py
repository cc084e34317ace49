"""What must survive a crash: records, transcripts, encrypted secrets. ``main`` opens it."""

from moorage.store.open import SqlStore, open_store
from moorage.store.owners import current_owner

__all__ = ["SqlStore", "current_owner", "open_store"]
