"""``sdk.watching`` without ``await``, made of it by ``python -m tools.sdk``, never by hand."""

from __future__ import annotations

from moorage.sdk.runner import FACES, run
from moorage.sdk.values import FilesystemEvent
from moorage.sdk.watching import AsyncWatchHandle


class WatchHandle:
    """Sees changes until ``stop``, the end of its time, or of the directory."""

    def __init__(self, of: AsyncWatchHandle) -> None:
        self._async = of

    def get_new_events(self) -> list[FilesystemEvent]:
        """What happened since the last call, where no ``on_event`` was given. Raises what ended the watch,
        once all was given out."""
        return run(self._async.get_new_events())

    def stop(self) -> None:
        """Watch no longer. Repeatable."""
        run(self._async.stop())


FACES[AsyncWatchHandle] = WatchHandle
