"""``sdk.listing`` without ``await``, made of it by ``python -m tools.sdk``, never by hand."""

from __future__ import annotations

from moorage.sdk.listing import AsyncSandboxPaginator
from moorage.sdk.runner import FACES, run
from moorage.sdk.values import SandboxInfo


class SandboxPaginator:
    """Each page is looked at when it is asked for. A sandbox made meanwhile is in a later page or in none;
    none is told twice."""

    def __init__(self, of: AsyncSandboxPaginator) -> None:
        self._async = of

    @property
    def has_next(self) -> bool:
        """Is there another page? True before the first."""
        return self._async.has_next

    @property
    def next_token(self) -> str | None:
        """Where the next page begins, for another ``list``; None at the end."""
        return self._async.next_token

    def next_items(self) -> list[SandboxInfo]:
        """The next page. UsageError after the last."""
        return run(self._async.next_items())


FACES[AsyncSandboxPaginator] = SandboxPaginator
